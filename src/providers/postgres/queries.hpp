// The fixed statements of the provider, with the name of the schema.
#pragma once

#include "providers/postgres/connection.hpp"

#include <string>

namespace duramen::inline v0::postgres::detail {

struct Queries {
  explicit Queries(const std::string& quoted_schema);

  // Functions of the schema: see schema/*/*.sql.
  Query start_instances;
  Query enqueue_messages;
  Query fetch_turns;
  Query lock_turns;
  Query commit_turns;
  Query put_back;
  Query abandon_turns;
  Query renew_turns;
  Query fetch_work;
  Query ack_work;
  Query renew_work;
  Query abandon_work;
  Query look_for_overdue;
  Query sweep;
  Query renew_sessions;
  Query release_sessions;
  Query delete_instances;
  Query prune_executions;
  Query write_node;
  Query raise_write_level;

  Query remove_node;
  Query reserve_numbers;
  Query taken_ids;
  Query stolen_leases;

  // Reading.
  Query history;
  Query histories;
  Query instance;
  Query key_values;
  Query executions;
  Query tree;
  Query pending_instance;
  Query pending_activities;
  Query pending_messages;
  Query metrics;
  Query count_instances;
  Query depths;
  Query nodes;
  Query write_level;
};

}  // namespace duramen::inline v0::postgres::detail
