// Any provider may be used, so the number of its answers is checked before they are read.
#pragma once

#include <duramen/detail/mutant.hpp>
#include <duramen/result.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace duramen::base {

[[nodiscard]] inline Error wrong_number_of_answers(const char* operation, std::size_t answers,
                                                   std::size_t entries) {
  return Error{ErrorCode::internal, operation,
               "the provider returned " + std::to_string(answers) + " answers for " +
                   std::to_string(entries) + " entries; correct the provider",
               false};
}

/// The answers of a call, or an error if their number differs from the number of entries.
template <class T>
[[nodiscard]] Result<std::vector<T>> one_for_each(const char* operation, std::size_t entries,
                                                  Result<std::vector<T>> answers) {
  if (answers && answers->size() != entries && !detail::mutant("answers_are_not_counted"))
    return wrong_number_of_answers(operation, answers->size(), entries);
  return answers;
}

/// The answer to a call with one entry.
template <class T>
[[nodiscard]] Result<T> the_one(const char* operation, Result<std::vector<T>> answers) {
  answers = one_for_each(operation, 1, std::move(answers));
  if (!answers) return answers.error();
  return std::move(answers->front());
}

}  // namespace duramen::base
