#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth::guest {

/// One place of a file that a patch changes.
struct PatchHunk {
    std::vector<std::string>
        headers;          ///< lines above the place ("@@ def f():"), from the outside in
    std::string old_text; ///< whole lines, each with a newline; empty: only adds
    std::string new_text;
    bool at_end = false;  ///< "*** End of File": the old lines are the file's last
    std::size_t line = 0; ///< of the patch, 1-based
};

struct PatchEntry {
    enum class Kind : std::uint8_t { add, update, remove };

    Kind kind = Kind::update;
    std::string path;
    std::string move_to;          ///< of an update; empty: it stays where it is
    std::string content;          ///< of an added file
    std::vector<PatchHunk> hunks; ///< of an update; none only where the file moves
    std::size_t line = 0;         ///< of the patch, 1-based
};

/// Reads a patch of the kind that Codex's apply_patch takes:
///
///     *** Begin Patch
///     *** Update File: src/a.c        then "*** Move to: PATH", or not, and hunks:
///     @@ int main(void)               a line above the place, as many as it takes
///      kept
///     -removed
///     +added
///     *** Add File: b.txt             every line with a +
///     *** Delete File: c.txt
///     *** End Patch
///
/// An empty line in a hunk is a kept one, and one between the lines of an added file is its own, as
/// if it had a +; line ends of the patch itself do not count, nor does what it is often wrapped in:
/// `apply_patch <<'EOF'` or three backticks above it and their end below. Throws
/// Error(invalid_argument) that names the line. At most `most_hunks` in all and
/// `most_patched_files`.
[[nodiscard]] std::vector<PatchEntry> parse_patch(std::string_view text);

/// Without the blanks around it.
[[nodiscard]] std::string_view trimmed(std::string_view line) noexcept;

inline constexpr std::size_t most_hunks = 1000;
/// All of them are open at once.
inline constexpr std::size_t most_patched_files = 100;

} // namespace berth::guest
