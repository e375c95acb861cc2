#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::tools {

/// A file above it is shown as text.
inline constexpr std::uint64_t max_notebook_size = 16ULL * 1024 * 1024;

struct NotebookOutput {
    /// What is shown of one output besides its text: a picture, or a form that has no text.
    struct Media {
        std::string type;  ///< image/png, text/html …
        std::string value; ///< of an image its base64, else empty
    };

    std::string type; ///< stream, execute_result, display_data, error
    std::string name; ///< of a stream: stdout, stderr
    std::string text; ///< of a stream, or the plain form of the others
    std::string markdown;
    std::string error_name;
    std::string error_value;
    std::string traceback;
    std::vector<Media> media;
};

struct NotebookCell {
    std::string type; ///< code, markdown, raw
    std::string source;
    std::optional<std::uint64_t> execution_count;
    std::vector<NotebookOutput> outputs;
};

struct Notebook {
    std::string language; ///< empty when it is not told
    std::vector<NotebookCell> cells;
    std::string fault; ///< not empty: this is no notebook, and why
};

/// Reads Jupyter's format 4. Memory is bounded by the text's size, whatever it holds: what is not
/// shown is not kept, and nesting, cells and outputs have limits.
[[nodiscard]] Notebook parse_notebook(std::string_view text);

} // namespace berth::tools
