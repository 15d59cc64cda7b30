# Functions of podsim's build: modules, plugin tables, tests.

add_library(podsim_settings INTERFACE)
target_compile_features(podsim_settings INTERFACE cxx_std_20)
target_include_directories(
  podsim_settings INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>
                            $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/podsim>)
set(warnings -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Woverloaded-virtual)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND warnings -Wno-restrict)  # false alarms of g++ 12 on std::string (GCC bug 105651)
endif()
if(PODSIM_WERROR)
  list(APPEND warnings -Werror)
endif()
target_compile_options(podsim_settings INTERFACE "$<BUILD_INTERFACE:${warnings}>")
if(PODSIM_SANITIZE)
  target_compile_options(podsim_settings INTERFACE -fsanitize=${PODSIM_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(podsim_settings INTERFACE -fsanitize=${PODSIM_SANITIZE})
endif()

# podsim_module(NAME [PUBLIC targets…] [PRIVATE targets…] [SOURCES files…])
# One static library from all .cpp files of the calling folder.
function(podsim_module name)
  cmake_parse_arguments(ARG "" "" "PUBLIC;PRIVATE;SOURCES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_library(podsim_${name} STATIC ${sources} ${ARG_SOURCES})
  target_link_libraries(podsim_${name} PUBLIC podsim_settings ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
endfunction()

# podsim_plugins(KIND TYPE HEADER FOLDER) -> sets KIND_sources in the caller: the plugins of FOLDER and a generated
# table that calls `const TYPE& KIND_<file name>()` of each. A plugin that lacks the function is a link error.
function(podsim_plugins kind type header folder)
  file(GLOB plugins CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp)
  list(SORT plugins)
  set(PLUGIN_DECLARATIONS "")
  set(PLUGIN_ENTRIES "")
  foreach(plugin IN LISTS plugins)
    cmake_path(GET plugin STEM stem)
    string(APPEND PLUGIN_DECLARATIONS "const ${type}& ${kind}_${stem}();\n")
    string(APPEND PLUGIN_ENTRIES "      &${kind}_${stem}(),\n")
  endforeach()
  set(PLUGIN_KIND ${kind})
  set(PLUGIN_TYPE ${type})
  set(PLUGIN_HEADER ${header})
  set(table ${PROJECT_BINARY_DIR}/generated/${kind}_table.cpp)
  configure_file(${PROJECT_SOURCE_DIR}/tools/cmake/plugin_table.cpp.in ${table} @ONLY)
  set(${kind}_sources ${plugins} ${table} PARENT_SCOPE)
endfunction()

# podsim_tests(NAME FOLDER [SERIAL] libraries…): one GoogleTest program from all .cpp files of FOLDER. SERIAL: its tests
# start processes of their own and race with signals, so each has the machine for itself.
function(podsim_tests name folder)
  cmake_parse_arguments(ARG "SERIAL" "" "" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE ${ARG_UNPARSED_ARGUMENTS} GTest::gmock GTest::gtest_main rapidcheck)
  target_compile_definitions(${name} PRIVATE PODSIM_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 600 RUN_SERIAL ${ARG_SERIAL}
                       # Random cases are the same ones each time; set RC_PARAMS by hand to explore others.
                       ENVIRONMENT "RC_PARAMS=seed=20261120")
endfunction()

# podsim_header_check(): compiles each header of the project alone, in a file of its own.
function(podsim_header_check)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/simulator/*.hpp
       ${PROJECT_SOURCE_DIR}/schedules/*.hpp ${PROJECT_SOURCE_DIR}/topology/*.hpp ${PROJECT_SOURCE_DIR}/workloads/*.hpp)
  foreach(header IN LISTS headers)
    string(REPLACE "/" "_" stem ${header})
    set(file ${PROJECT_BINARY_DIR}/generated/headers/${stem}.cpp)
    file(CONFIGURE OUTPUT ${file} CONTENT "#include \"${header}\"  // IWYU pragma: keep\n")
    list(APPEND files ${file})
  endforeach()
  add_library(headers_alone OBJECT ${files})
  target_link_libraries(headers_alone PRIVATE podsim_settings Boost::headers PkgConfig::HDF5 CLI11::CLI11)
  target_compile_options(headers_alone PRIVATE -O0)
endfunction()
