# The code in README.md is the code of an example, so that the build compiles it.

cmake_minimum_required(VERSION 3.25)

# The text of `file` between two marks. Each mark must occur once.
function(text_between file first last result)
  file(READ "${SOURCE_DIR}/${file}" text)
  string(FIND "${text}" "${first}" from)
  string(LENGTH "${first}" length)
  math(EXPR from "${from} + ${length}")
  string(SUBSTRING "${text}" ${from} -1 text)
  string(FIND "${text}" "${last}" to)
  if(from LESS length OR to EQUAL -1)
    message(FATAL_ERROR "${file} has no text between \"${first}\" and \"${last}\"")
  endif()
  string(SUBSTRING "${text}" 0 ${to} text)
  string(STRIP "${text}" text)
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

text_between(README.md "```cpp" "```" shown)
text_between(examples/hello/hello.cpp "// [readme]" "// [/readme]" compiled)
if(NOT shown STREQUAL compiled)
  message(FATAL_ERROR "the code in README.md is not the marked part of examples/hello/hello.cpp")
endif()
