# Configuring needs nothing but what the libraries are built on; BUILD_SHARED_LIBS chooses the kind; as part of another
# project there is neither a test nor anything to install.
cmake_minimum_required(VERSION 3.25)
include("${CMAKE_CURRENT_LIST_DIR}/steps.cmake")

file(REMOVE_RECURSE "${WORK_DIR}")
set(without_the_rest -DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON -DCMAKE_DISABLE_FIND_PACKAGE_PostgreSQL=ON
  -DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON -DCMAKE_DISABLE_FIND_PACKAGE_benchmark=ON)

configure("${SOURCE_DIR}" "${WORK_DIR}/shared" "" ${without_the_rest} -DBUILD_SHARED_LIBS=ON -DDURAMEN_BUILD_TESTS=OFF
  -DDURAMEN_BUILD_BENCH=OFF -DDURAMEN_BUILD_EXAMPLES=OFF)
file(READ "${WORK_DIR}/shared/packaging/cmake_install.cmake" rules)
expect("${rules}" "libduramen\\.so")
expect_not("${rules}" "libduramen\\.a|libduramen-postgres")

file(WRITE "${WORK_DIR}/source/CMakeLists.txt" "
cmake_minimum_required(VERSION 3.25)
project(host LANGUAGES CXX)
add_subdirectory(\"${SOURCE_DIR}\" duramen)
file(WRITE \"${WORK_DIR}/source/main.cpp\" \"int main() {}\")
add_executable(host main.cpp)
target_link_libraries(host PRIVATE duramen::duramen duramen::sqlite)
if(TARGET libduramen_static OR TARGET libduramen_shared OR TARGET core_test OR TARGET duramen_demo OR TARGET duramen_cli)
  message(FATAL_ERROR \"more than the libraries\")
endif()
")
list(REMOVE_ITEM without_the_rest -DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON)
configure("${WORK_DIR}/source" "${WORK_DIR}/embedded" "" ${without_the_rest})
