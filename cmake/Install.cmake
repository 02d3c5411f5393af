# What `cmake --install` puts down: the program, one static library of all folders below cli, the public headers, a pkg-config
# file and a CMake package (find_package(intaglio) gives intaglio::intaglio), documentation.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The folders' archives merged into one: its users need not know their order. (The target `intaglio` is the program.)
set(objects "")
foreach(folder base kernels graph onnx hardware sim realize verify search logs api)
  list(APPEND objects $<TARGET_OBJECTS:itg_${folder}>)
endforeach()
add_library(itg_intaglio STATIC ${objects})
add_library(intaglio::intaglio ALIAS itg_intaglio)
set_target_properties(itg_intaglio PROPERTIES OUTPUT_NAME intaglio EXPORT_NAME intaglio LINKER_LANGUAGE C)
target_include_directories(itg_intaglio INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
# PRIVATE: users link these and see none of their headers.
target_link_libraries(itg_intaglio PRIVATE
  PkgConfig::PROTOBUF_C PkgConfig::CJSON PkgConfig::SQLITE3 PkgConfig::LIBZIP ZLIB::ZLIB m)

# gcc's own flag finds gcc's own library; other compilers' libraries are named by path, so that gcc may link them, too.
set(ITG_PC_OPENMP "")
if(OpenMP_C_FOUND)
  target_link_libraries(itg_intaglio PRIVATE OpenMP::OpenMP_C)
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
  set(ITG_PC_ONEDNN "-ldnnl")
endif()
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/intaglio)
file(RELATIVE_PATH ITG_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/intaglio.pc.in intaglio.pc @ONLY)
configure_package_config_file(cmake/intaglioConfig.cmake.in intaglioConfig.cmake INSTALL_DESTINATION ${package_folder})
# Before 1.0 a minor version may break its users.
write_basic_package_version_file(intaglioConfigVersion.cmake COMPATIBILITY SameMinorVersion)

if(TARGET intaglio)
  install(TARGETS intaglio RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(TARGETS itg_intaglio EXPORT intaglio ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT intaglio FILE intaglioTargets.cmake NAMESPACE intaglio:: DESTINATION ${package_folder})
install(FILES ${PROJECT_BINARY_DIR}/intaglioConfig.cmake ${PROJECT_BINARY_DIR}/intaglioConfigVersion.cmake
  DESTINATION ${package_folder})
install(FILES ${PROJECT_BINARY_DIR}/intaglio.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(DIRECTORY include/intaglio DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md")
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
