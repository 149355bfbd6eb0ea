// The commands. Each calls the store and returns an answer; none of them prints. The code is in
// commands/<name>.cpp.
#pragma once

#include "answer.hpp"
#include "arguments.hpp"
#include "session.hpp"
#include <duramen/result.hpp>

namespace duramen::cli {

// Reading.
[[nodiscard]] Result<Answer> run(Session& session, const ListArguments& arguments);
[[nodiscard]] Result<Answer> run(Session& session, const ShowArguments& arguments);
[[nodiscard]] Result<Answer> run(Session& session, const HistoryArguments& arguments);
[[nodiscard]] Result<Answer> run(Session& session, const TreeArguments& arguments);
[[nodiscard]] Result<Answer> run(Session& session, const ExplainArguments& arguments);
[[nodiscard]] Result<Answer> run(Session& session, const KvArguments& arguments);
[[nodiscard]] Result<Answer> run(Session& session, const StatsArguments& arguments);
[[nodiscard]] Result<Answer> run(Session& session, const NodesArguments& arguments);
[[nodiscard]] Result<Answer> run(Session& session, const TopArguments& arguments);
[[nodiscard]] Result<Answer> run(Session& session, const DoctorArguments& arguments);

// Acting.
[[nodiscard]] Result<Answer> run(Session& session, const StartArguments& arguments);
[[nodiscard]] Result<Answer> run(Session& session, const WaitArguments& arguments);
[[nodiscard]] Result<Answer> run(Session& session, const CancelArguments& arguments);
[[nodiscard]] Result<Answer> run(Session& session, const RaiseArguments& arguments);
[[nodiscard]] Result<Answer> run(Session& session, const EnqueueArguments& arguments);

// Managing, moving.
[[nodiscard]] Result<Answer> run(Session& session, const DeleteArguments& arguments);
[[nodiscard]] Result<Answer> run(Session& session, const PruneArguments& arguments);
[[nodiscard]] Result<Answer> run(Session& session, const UpgradeArguments& arguments);
[[nodiscard]] Result<Answer> run(Session& session, const ExportArguments& arguments);
[[nodiscard]] Result<Answer> run(Session& session, const ImportArguments& arguments);

// With code, or without a store.
[[nodiscard]] Result<Answer> run(Session& session, const RunArguments& arguments);
[[nodiscard]] Result<Answer> run(Context& context, const ReplayArguments& arguments);
[[nodiscard]] Result<Answer> run(Context& context, const VersionArguments& arguments);
[[nodiscard]] Result<Answer> run(Context& context, const CompletionArguments& arguments);

}  // namespace duramen::cli
