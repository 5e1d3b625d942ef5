import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, get, load
from conan.tools.system.package_manager import Apt

required_conan_version = ">=2.0.14"


class ColockRecipe(ConanFile):
    name = "colock"
    description = "Distributed locks for Boost.Asio on Apache ZooKeeper"
    license = "BSL-1.0"
    topics = ("asio", "zookeeper", "distributed-lock", "coroutines")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], "tls": [True, False]}
    default_options = {"shared": False, "fPIC": True, "tls": True}
    implements = ["auto_shared_fpic"]

    @property
    def _root(self):
        return os.path.join(self.recipe_folder, "..", "..")

    # A release comes with a conandata.yml that says where its archive is. Without one the sources are those of the tree.
    def set_version(self):
        if self.conan_data:
            (self.version,) = self.conan_data["sources"]
            return
        header = load(self, os.path.join(self._root, "include", "colock", "version.hpp"))
        self.version = re.search(r'COLOCK_VERSION_STRING "([0-9.]+)"', header)[1]

    def export_sources(self):
        if self.conan_data:
            return
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "lib/*"):
            copy(self, pattern, self._root, self.export_sources_folder)

    def source(self):
        if self.conan_data:
            get(self, **self.conan_data["sources"][self.version], strip_root=True)

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        self.requires("boost/[>=1.81 <2]", transitive_headers=True)
        if self.options.tls:
            self.requires("openssl/[>=3.0 <4]", transitive_headers=True)

    # ConanCenter's zookeeper-client-c is the multi-threaded client, which colock cannot use.
    def system_requirements(self):
        Apt(self).install(["libzookeeper-st-dev"])

    def validate(self):
        check_min_cppstd(self, 20)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["COLOCK_TLS"] = bool(self.options.tls)
        toolchain.cache_variables["COLOCK_SASL"] = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        # Programs find colock's own package for CMake, which checks the version of Boost.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "colock")]
        self.cpp_info.libs = ["colock"]
        self.cpp_info.system_libs = ["zookeeper_st", "pthread"]
        if self.options.shared:
            self.cpp_info.defines = ["COLOCK_SHARED_LIBRARY"]
