import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout


class ColockTest(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeDeps", "VirtualRunEnv"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    @property
    def _tls(self):
        return bool(self.dependencies["colock"].options.tls)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["COLOCK_COMPONENTS"] = "tls" if self._tls else ""
        toolchain.generate()

    # The programs are those of the project's own test of find_package().
    def build(self):
        cmake = CMake(self)
        cmake.configure(build_script_folder="../../../test/consume/find_package")
        cmake.build()

    def test(self):
        if can_run(self):
            for program in ["consumer", "tls_consumer"] if self._tls else ["consumer"]:
                self.run(os.path.join(self.cpp.build.bindir, program), env="conanrun")
