# What `cmake --install` puts down: the program, one library of all folders below cli, static and shared, the public headers, a pkg-config
# file and a CMake package (find_package(intaglio) gives intaglio::intaglio), manual pages, completion of shells, documentation.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The folders' archives merged into one: its users need not know their order. Static, and shared, which exports what the public
# headers declare and nothing else. (The target `intaglio` is the program.)
set(objects "")
foreach(folder base kernels graph onnx hardware sim realize recover verify search explain logs remote api)
  list(APPEND objects $<TARGET_OBJECTS:itg_${folder}>)
endforeach()
add_library(itg_intaglio STATIC ${objects})
add_library(itg_shared SHARED ${objects})
add_library(intaglio::intaglio ALIAS itg_intaglio)
set_target_properties(itg_intaglio PROPERTIES EXPORT_NAME intaglio)
set_target_properties(itg_shared PROPERTIES EXPORT_NAME shared VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}) # before 1.0 a minor version may break its users
foreach(library itg_intaglio itg_shared)
  set_target_properties(${library} PROPERTIES OUTPUT_NAME intaglio LINKER_LANGUAGE C)
  target_include_directories(${library} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  # PRIVATE: users link these and see none of their headers.
  target_link_libraries(${library} PRIVATE
    PkgConfig::PROTOBUF_C PkgConfig::CJSON PkgConfig::SQLITE3 PkgConfig::LIBZIP ZLIB::ZLIB Threads::Threads m)
endforeach()
if(ITG_SANITIZE)
  target_link_options(itg_shared PRIVATE -fsanitize=${ITG_SANITIZE})
endif()

# gcc's own flag finds gcc's own library; other compilers' libraries are named by path, so that gcc may link them, too.
set(ITG_PC_OPENMP "")
if(OpenMP_C_FOUND)
  target_link_libraries(itg_intaglio PRIVATE OpenMP::OpenMP_C)
  target_link_libraries(itg_shared PRIVATE OpenMP::OpenMP_C)
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    set(ITG_PC_OPENMP "-fopenmp")
  else()
    list(JOIN OpenMP_C_LIBRARIES " " ITG_PC_OPENMP)
  endif()
endif()
# Named by path in the CMake package, for who builds on the machine that built us.
set(ITG_PC_ONEDNN "")
if(ITG_WITH_ONEDNN)
  target_link_libraries(itg_intaglio PRIVATE ${ITG_ONEDNN_LIBRARY})
  target_link_libraries(itg_shared PRIVATE ${ITG_ONEDNN_LIBRARY})
  set(ITG_PC_ONEDNN "-ldnnl")
endif()
# Images as data, and workers on other machines: where their libraries were found.
set(ITG_PC_FOUND "")
set(ITG_FOUND_MODULES "")
foreach(pair LIBPNG:libpng LIBJPEG:libturbojpeg HIREDIS:hiredis OPENSSL:openssl)
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 name)
  list(GET pair 1 module)
  if(TARGET PkgConfig::${name})
    target_link_libraries(itg_intaglio PRIVATE PkgConfig::${name})
    target_link_libraries(itg_shared PRIVATE PkgConfig::${name})
    string(APPEND ITG_PC_FOUND " ${module}")
    string(APPEND ITG_FOUND_MODULES " ${name}:${module}")
  endif()
endforeach()
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/intaglio)
file(RELATIVE_PATH ITG_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/intaglio.pc.in intaglio.pc @ONLY)
configure_package_config_file(cmake/intaglioConfig.cmake.in intaglioConfig.cmake INSTALL_DESTINATION ${package_folder})
# Before 1.0 a minor version may break its users.
write_basic_package_version_file(intaglioConfigVersion.cmake COMPATIBILITY SameMinorVersion)

if(TARGET intaglio)
  install(TARGETS intaglio RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(ITG_MANUAL)
  install(DIRECTORY ${ITG_MANUAL}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN "*.1")
  install(FILES ${ITG_MANUAL}/intaglio.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME intaglio)
  install(FILES ${ITG_MANUAL}/_intaglio DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${ITG_MANUAL}/intaglio.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
install(TARGETS itg_intaglio itg_shared EXPORT intaglio ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT intaglio FILE intaglioTargets.cmake NAMESPACE intaglio:: DESTINATION ${package_folder})
install(FILES ${PROJECT_BINARY_DIR}/intaglioConfig.cmake ${PROJECT_BINARY_DIR}/intaglioConfigVersion.cmake
  DESTINATION ${package_folder})
install(FILES ${PROJECT_BINARY_DIR}/intaglio.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(DIRECTORY include/intaglio DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md")
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# cpack -G DEB: a Debian package, which depends on the libraries that it was linked with.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "The Intaglio developers <intaglio@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
include(CPack)
