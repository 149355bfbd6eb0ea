#include "module.hpp"

#include <duramen/module.hpp>

#include <dlfcn.h>
#include <exception>
#include <filesystem>

namespace duramen::cli {

namespace {

Error unusable(std::string message) {
  return Error{ErrorCode::invalid_argument, "load", std::move(message), false};
}

}  // namespace

std::string module_abi() { return DURAMEN_MODULE_ABI; }

Result<Registry> load_module(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return Error{ErrorCode::not_found, "load", "there is no module " + path + "; check the path", false};
  }
  // Without a slash dlopen would search the system's folders.
  void* handle = ::dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return unusable(std::string("the module cannot be loaded: ") + ::dlerror());
  }
  auto* const abi = reinterpret_cast<ModuleAbi*>(::dlsym(handle, "duramen_abi"));
  auto* const fill = reinterpret_cast<ModuleRegister*>(::dlsym(handle, "duramen_register"));
  if (abi == nullptr || fill == nullptr) {
    return unusable(
        path +
        " is no Duramen module: it exports no duramen_abi and duramen_register; write DURAMEN_MODULE "
        "from <duramen/module.hpp> in it");
  }
  if (module_abi() != abi()) {
    return unusable(path + " was built for \"" + abi() + "\", this program is \"" + module_abi() +
                    "\"; build it again with the headers and the compiler of this Duramen");
  }
  try {
    Registry registry;
    fill(registry);
    return registry;
  } catch (const std::exception& thrown) {
    return unusable(path + " could not register its code: " + thrown.what());
  }
}

}  // namespace duramen::cli
