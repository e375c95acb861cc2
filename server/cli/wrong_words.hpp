#pragma once

#include <string>
#include <vector>

namespace CLI { // NOLINT(readability-identifier-naming): the library's
class App;
class ParseError;
} // namespace CLI

namespace berth::server::cli {

struct WrongWords {
    std::string complaint; ///< which words the parser does not take, as they were typed
    std::string advice;    ///< what was probably meant, or where what there is is listed
};

/// Of `words`, which `app` has refused with `error`.
[[nodiscard]] WrongWords wrong_words(const CLI::App& app, const std::vector<std::string>& words,
                                     const CLI::ParseError& error);

} // namespace berth::server::cli
