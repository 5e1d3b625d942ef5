include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/colock")

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/colock"
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING PATTERN "*.hpp")
install(
    TARGETS colock
    EXPORT colockTargets
    RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}"
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
if(COLOCK_TLS)
    install(TARGETS colock_tls EXPORT colockTargets)
endif()
if(COLOCK_BUILD_TESTING)
    set(of_testing colock_testing)
    if(TARGET colock_testing_world)
        list(APPEND of_testing colock_testing_world)
    endif()
    install(
        TARGETS ${of_testing}
        EXPORT colockTargets
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
        INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
endif()
set(of_modules "")
if(TARGET colock_module)
    install(
        TARGETS colock_module
        EXPORT colockTargets
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
        FILE_SET CXX_MODULES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
    set(of_modules CXX_MODULES_DIRECTORY modules)
endif()
install(EXPORT colockTargets NAMESPACE colock:: DESTINATION "${package_dir}" ${of_modules})

get_target_property(colock_type colock TYPE)
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/colockConfig.cmake.in"
                              "${PROJECT_BINARY_DIR}/colockConfig.cmake"
                              INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/colockConfigVersion.cmake"
                                 COMPATIBILITY SameMajorVersion)
install(FILES "${PROJECT_BINARY_DIR}/colockConfig.cmake"
              "${PROJECT_BINARY_DIR}/colockConfigVersion.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/FindZooKeeper.cmake"
        DESTINATION "${package_dir}")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/doc/colock")
include(PkgConfig)
