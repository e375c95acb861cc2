#pragma once

#include "sandbox/sandbox.hpp"
#include "tools/tool.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace berth::tools {

/// What is shown of a command's output while it runs.
inline constexpr std::size_t progress_lines = 3;
inline constexpr std::size_t progress_characters = 300;

/// The last lines that say something, as Progress takes them; a progress bar as it stands, control
/// characters as the output has them. Empty when there is none.
[[nodiscard]] std::string last_lines(const protocol::PrintedTail& tail,
                                     ControlCharacters treatment);

/// For `progress` of a request: 0 where nobody is told.
[[nodiscard]] std::uint64_t wanted_progress(const Context& context);

/// Hands the last lines to the call's progress. `context` must outlive it.
[[nodiscard]] sandbox::Printed show_printed(const Context& context);

/// Tells how far a save or a load is. Not synchronised.
class TransferProgress {
  public:
    /// `progress` must outlive it; empty: nothing is told.
    explicit TransferProgress(const Progress& progress) : progress_(progress) {}

    /// The next file.
    void begin(std::string_view name);
    /// So much of it more.
    void add(std::size_t bytes);

  private:
    void tell() const;

    const Progress& progress_;
    std::string name_;
    std::uint64_t files_ = 0;
    std::uint64_t bytes_ = 0;
};

} // namespace berth::tools
