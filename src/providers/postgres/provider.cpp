#include "providers/postgres/provider.hpp"

#include "base/guarded.hpp"
#include "providers/common/unreadable_row.hpp"
#include "providers/postgres/encoding.hpp"
#include "providers/postgres/error.hpp"
#include "providers/postgres/identifier.hpp"
#include "providers/postgres/instance_info.hpp"
#include "providers/postgres/schema.hpp"
#include <duramen/detail/mutant.hpp>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace duramen::inline v0::postgres::detail {

namespace {

/// The log is called on our own threads and in callbacks of libpq, which must not throw.
Options with_guarded_log(Options options) {
  options.log = base::guarded(std::move(options.log));
  return options;
}

}  // namespace

PostgresProvider::PostgresProvider(const Options& options)
    : options_(with_guarded_log(options)),
      schema_(quoted_identifier(options.schema)),
      queries_(schema_),
      random_(std::random_device{}() | (std::uint64_t{std::random_device{}()} << 32)),
      pool_(options_, server_clock_, counters_),
      announcer_(options_, listeners_, server_clock_, counters_) {
  announcer_.on_announcement([this](const Announcement&) { empty_fetches_.invalidate(); });
  const Pool::Loan connection = pool_.take();
  open_schema(*connection, options_.schema, options_.migrate);
  store_id_ = stored_store_id(*connection, options_.schema);
}

Counters PostgresProvider::counters() const noexcept {
  return {.queries = counters_.queries,
          .listener_queries = counters_.listener_queries,
          .connections_opened = counters_.connections_opened,
          .notifications_sent = counters_.notifications_sent,
          .notifications_received = counters_.notifications_received,
          .unreadable_messages = counters_.unreadable_messages};
}

/// A renewal is sent when a third of the lease has passed, so a second one may follow the first in time. A
/// lease on another clock than ours sets no limit.
Duration PostgresProvider::part_of(Duration lease) const {
  constexpr Duration shortest{1000};
  if (options_.clock != nullptr || duramen::detail::mutant("renewals_outlast_their_lease"))
    return Duration::max();
  return std::max(lease / 3, shortest);
}

Rows PostgresProvider::run(const Query& query, const Parameters& parameters, bool for_many,
                           Duration at_most) {
  const Pool::Loan connection = pool_.take();
  if (for_many) connection->forget_plans();
  ++counters_.queries;
  return connection->run(query, parameters, at_most);
}

Rows PostgresProvider::write(const Query& query, const Parameters& parameters) {
  Rows rows = until_not_overtaken([&] { return run(query, parameters); });
  empty_fetches_.invalidate();
  return rows;
}

Rows PostgresProvider::read(const Query& query, const Parameters& parameters) {
  try {
    return run(query, parameters);
  } catch (const ConnectionError&) {
    return run(query, parameters);
  }
}

TransactionTime PostgresProvider::transaction_time() const {
  if (options_.clock == nullptr) return {};
  return {to_unix_ms(options_.clock->now()), options_.clock->lease_now().time_since_epoch().count()};
}

std::int64_t PostgresProvider::new_token() {
  const std::lock_guard lock(random_mutex_);
  return static_cast<std::int64_t>(random_() >> 2) + 1;
}

void PostgresProvider::announce(const providers::Notices& notices) {
  if (!notices.any()) return;
  empty_fetches_.invalidate();  // of other nodes of this process
  try {
    announcer_.announce(notices);
    listeners_.notify(notices);
  } catch (const std::bad_alloc&) {
    // The change is stored: the call has succeeded, and polling finds it.
    if (duramen::detail::mutant("a_lost_hint_fails_the_stored_call")) throw;
  }
}

std::int64_t PostgresProvider::known_version() {
  if (duramen::detail::mutant("a_changed_schema_is_used_on")) return std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(migrations().size());
}

void PostgresProvider::require_known_version(std::int64_t needed) const {
  if (needed > known_version()) throw StoreError(newer_schema(options_.schema, needed));
}

Result<std::optional<InstanceInfo>> PostgresProvider::get_instance(const InstanceId& instance) {
  return guarded("get_instance", [&]() -> Result<std::optional<InstanceInfo>> {
    Parameters parameters;
    parameters.text(instance.value);
    const Rows rows = read(queries_.instance, parameters);
    if (rows.count() == 0) return std::optional<InstanceInfo>{};
    auto info = std::optional(read_info(rows, 0, Results::wanted));
    if (info->unreadable) return providers::unreadable_instance("get_instance", instance, *info->unreadable);
    return info;
  });
}

Result<KeyValues> PostgresProvider::get_key_values(const InstanceId& instance) {
  return guarded("get_key_values", [&]() -> Result<KeyValues> {
    Parameters parameters;
    parameters.text(instance.value);
    const Rows rows = read(queries_.key_values, parameters);
    KeyValues values;
    for (int row = 0; row < rows.count(); ++row) {
      values.emplace(rows.text(row, 0), KeyValueEntry{make_payload(rows.text(row, 1), rows.text(row, 2)),
                                                      from_unix_ms(rows.integer(row, 3))});
    }
    return values;
  });
}

std::unique_ptr<Subscription> PostgresProvider::subscribe(NodeId node, ProviderListener& listener) {
  auto subscription = listeners_.add(std::move(node), listener);
  announcer_.start();
  return subscription;
}

}  // namespace duramen::inline v0::postgres::detail

namespace duramen::inline v0::postgres {

Result<std::shared_ptr<Provider>> open_provider(const Options& options) {
  return detail::guarded("open", [&]() -> Result<std::shared_ptr<Provider>> {
    return std::shared_ptr<Provider>(std::make_shared<detail::PostgresProvider>(options));
  });
}

Counters counters(const Provider& provider) {
  const auto* ours = dynamic_cast<const detail::PostgresProvider*>(&provider);
  return ours != nullptr ? ours->counters() : Counters{};
}

Result<std::optional<SchemaVersion>> schema_version(Provider& provider) {
  auto* const ours = dynamic_cast<detail::PostgresProvider*>(&provider);
  if (ours == nullptr) return std::optional<SchemaVersion>{};
  Result<SchemaVersion> version = ours->schema_version();
  if (!version) return version.error();
  return std::optional{*version};
}

}  // namespace duramen::inline v0::postgres
