// duramen version: the version of Duramen, and the ABI that a module must have.
#include <duramen/version.hpp>

#include "commands.hpp"
#include "module.hpp"
#include <duramen/history.hpp>

namespace duramen::cli {

Result<Answer> run(Context& /*context*/, const VersionArguments& /*arguments*/) {
#ifdef DURAMEN_CLI_POSTGRES
  const bool postgres = true;
#else
  const bool postgres = false;
#endif
  Answer answer;
  JsonArray stores;
  stores.add("sqlite");
  if (postgres) stores.add("postgres");
  answer.documents.push_back(JsonObject()
                                 .add("version", version())
                                 .add("engine_version", engine_version)
                                 .add("module_abi", module_abi())
                                 .add("stores", stores));
  Fields fields;
  fields.add("duramen", std::string(version()));
  fields.add("replay rules", std::to_string(engine_version));
  fields.add("modules for", module_abi());
  fields.add("stores", postgres ? "sqlite, postgres" : "sqlite");
  answer.page.emplace_back(std::move(fields));
  return answer;
}

}  // namespace duramen::cli
