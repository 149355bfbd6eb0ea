#include <duramen/detail/type_name.hpp>

#include <cstdlib>
#include <cxxabi.h>
#include <memory>

namespace duramen::inline v0::detail {

std::string type_name(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name{
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), &std::free};
  return status == 0 && name ? name.get() : type.name();
}

}  // namespace duramen::inline v0::detail
