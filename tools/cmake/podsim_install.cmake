# What `cmake --install` gives: program, libraries, headers, data, scenarios, a CMake package and a man page.

include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/podsim)
set(modules core config program machine partition trace engine output topology workloads schedules)
list(TRANSFORM modules PREPEND podsim_)

# podsim::podsim is the library; podsim::program runs it.
set_target_properties(podsim_app PROPERTIES EXPORT_NAME podsim)
set_target_properties(podsim PROPERTIES EXPORT_NAME program)
install(TARGETS podsim podsim_app ${modules} podsim_settings EXPORT podsim_targets)
install(EXPORT podsim_targets NAMESPACE podsim:: FILE podsimTargets.cmake DESTINATION ${package_folder})

foreach(folder IN ITEMS simulator schedules topology workloads)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/podsim
          FILES_MATCHING PATTERN "*.hpp" PATTERN "data" EXCLUDE)
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/topology/data/ DESTINATION ${CMAKE_INSTALL_DATADIR}/podsim/data)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/scenarios/ DESTINATION ${CMAKE_INSTALL_DATADIR}/podsim/scenarios)
install(FILES ${PROJECT_SOURCE_DIR}/tools/podsim.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)

configure_package_config_file(${PROJECT_SOURCE_DIR}/tools/cmake/podsimConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/podsimConfig.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/podsimConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/podsimConfig.cmake ${PROJECT_BINARY_DIR}/podsimConfigVersion.cmake
        DESTINATION ${package_folder})
