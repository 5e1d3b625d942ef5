# A release comes with an archive.cmake. Without it the sources are those of the tree that this port is in.
if(EXISTS "${CURRENT_PORT_DIR}/archive.cmake")
    include("${CURRENT_PORT_DIR}/archive.cmake")
    vcpkg_download_distfile(ARCHIVE URLS "${archive_url}" FILENAME "${archive_name}" SHA512 ${archive_sha512})
    vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "${ARCHIVE}")
else()
    get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../../.." ABSOLUTE)
endif()

vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS FEATURES tls COLOCK_TLS)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS ${FEATURE_OPTIONS} -DCOLOCK_SASL=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/colock)

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share"
                    "${CURRENT_PACKAGES_DIR}/share/doc")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
