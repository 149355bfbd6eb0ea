"""A Conan 2 recipe for Duramen. Untested: Conan was not at hand. It names the dependencies and calls our CMake."""

import pathlib
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout


class Duramen(ConanFile):
    name = "duramen"
    description = "Durable execution for C++: coroutines that survive crashes"
    license = "MIT"
    package_type = "library"
    settings = "os", "compiler", "build_type", "arch"
    options = {"shared": [True, False], "fPIC": [True, False], "postgres": [True, False]}
    default_options = {"shared": False, "fPIC": True, "postgres": False}
    exports_sources = (
        "CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "packaging/*", "src/*", "cli/*", "dashboard/*")

    def set_version(self):
        # The version is written in one place.
        text = (pathlib.Path(self.recipe_folder) / "CMakeLists.txt").read_text()
        self.version = re.search(r"project\(duramen\s+VERSION ([0-9.]+)", text)[1]

    def validate(self):
        check_min_cppstd(self, 20)
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("Duramen runs on Linux")

    def requirements(self):
        self.requires("nlohmann_json/[>=3.11]", transitive_headers=True)
        self.requires("simdjson/[>=3]")
        self.requires("sqlite3/[>=3.40]")
        if self.options.postgres:
            self.requires("libpq/[>=15]")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        for part in ("TESTS", "BENCH", "EXAMPLES", "CLI"):
            toolchain.cache_variables[f"DURAMEN_BUILD_{part}"] = False
        toolchain.cache_variables["BUILD_SHARED_LIBS"] = bool(self.options.shared)
        toolchain.cache_variables["CMAKE_DISABLE_FIND_PACKAGE_PostgreSQL"] = not self.options.postgres
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        # Users get the package's own duramen-config.cmake.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs.append("lib/cmake/duramen")
