# Functions of podsim's build: modules, plugin tables, tests.

add_library(podsim_settings INTERFACE)
target_include_directories(podsim_settings INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/generated)
target_compile_options(podsim_settings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
                       -Wnon-virtual-dtor -Woverloaded-virtual
                       $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>  # false alarms of g++ 12 on std::string (GCC bug 105651)
                       $<$<BOOL:${PODSIM_WERROR}>:-Werror>)
if(PODSIM_SANITIZE)
  target_compile_options(podsim_settings INTERFACE -fsanitize=${PODSIM_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(podsim_settings INTERFACE -fsanitize=${PODSIM_SANITIZE})
endif()

# podsim_module(NAME [PUBLIC targets…] [PRIVATE targets…] [SOURCES files…])
# One static library from all .cpp files of the calling folder.
function(podsim_module name)
  cmake_parse_arguments(ARG "" "" "PUBLIC;PRIVATE;SOURCES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(NOT sources AND NOT ARG_SOURCES)  # headers only
    add_library(podsim_${name} INTERFACE)
    target_link_libraries(podsim_${name} INTERFACE podsim_settings ${ARG_PUBLIC} ${ARG_PRIVATE})
    return()
  endif()
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

# podsim_tests(NAME FOLDER libraries…): one GoogleTest program from all .cpp files of FOLDER.
function(podsim_tests name folder)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE ${ARGN} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE PODSIM_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 600)
endfunction()
