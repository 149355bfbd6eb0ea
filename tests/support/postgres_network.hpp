// A network for one test: a bridge, on which a server listens, and machines that can be cut off from it.
#pragma once

#include <string>
#include <vector>

namespace duramen::test {

class PostgresNetwork {
 public:
  /// False without root, the command `ip`, or a kernel that has namespaces, bridges and veth pairs.
  [[nodiscard]] static bool can_be_had();

  /// Throws std::runtime_error.
  explicit PostgresNetwork(int machines);
  ~PostgresNetwork();
  PostgresNetwork(const PostgresNetwork&) = delete;
  PostgresNetwork& operator=(const PostgresNetwork&) = delete;

  /// The address of the server, and the network it is in.
  [[nodiscard]] std::string address() const { return prefix_ + "1"; }
  [[nodiscard]] std::string range() const { return prefix_ + "0/24"; }
  /// The namespace of a machine, counted from 0.
  [[nodiscard]] std::string machine(int number) const { return name_ + "n" + std::to_string(number); }

  /// Drops everything in both directions, without notice to either side.
  void cut_off(int number);
  void heal(int number);

  /// The calling process goes on in that namespace; false if it cannot.
  [[nodiscard]] static bool enter(const std::string& machine);

 private:
  void remove() noexcept;

  std::string name_;
  std::string prefix_;
  int machines_;
};

}  // namespace duramen::test
