#pragma once

#include "sandbox/guest/search/block_reader.hpp"
#include "sandbox/guest/search/matcher.hpp"
#include "sandbox/guest/search/occurrences.hpp"
#include "sandbox/protocol/messages.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace berth::guest::search {

struct RenderOptions {
    std::uint32_t before = 0;
    std::uint32_t after = 0;
    bool only_matching = false;
    std::uint64_t line_limit = 0; ///< characters; 0: none
};

/// Bytes of text that a reply may still get.
class TextBudget {
  public:
    /// 0: no limit.
    explicit TextBudget(std::uint64_t bytes) : left_(bytes == 0 ? ~std::uint64_t{0} : bytes) {}

    /// False, and from then on always, when `bytes` do not fit any more. What is `required` fits as
    /// long as all before it did: then nothing is left.
    bool take(std::uint64_t bytes, bool required = false) noexcept
    {
        exceeded_ = exceeded_ || (bytes > left_ && !required);
        left_ -= exceeded_ ? 0 : std::min(bytes, left_);
        return !exceeded_;
    }

    [[nodiscard]] std::uint64_t left() const noexcept { return left_; }

    [[nodiscard]] bool exceeded() const noexcept { return exceeded_; }

  private:
    std::uint64_t left_;
    bool exceeded_ = false;
};

/// Makes the lines of one file's part of a reply.
class FileRenderer {
  public:
    /// Of the `first` file of a reply the first unit is shown whatever the budget, and context
    /// before it gives way: a reply without a unit would leave its reader no way on.
    FileRenderer(const Matcher& matcher, const RenderOptions& options, TextBudget& budget,
                 bool first, protocol::GrepFile& out)
        : matcher_(matcher), options_(options), budget_(budget), out_(out), match_due_(first)
    {
    }

    /// Adds `take` units (matching lines, or occurrences) after the first `skip`, with context.
    /// Returns how many units it came by, skipped ones included.
    std::uint64_t render(BlockReader& reader, int fd, std::uint64_t skip, std::uint64_t take);

  private:
    void render_block(std::string_view text, bool continues_line);
    void pass_gap(std::string_view text, std::size_t begin, std::size_t end);
    void keep_before(std::string_view text, std::size_t begin, std::size_t end,
                     std::uint64_t end_number);
    void show_lines(std::string_view text, Matcher::Span lines);
    void show_occurrences(std::string_view text, Matcher::Span lines, LastEnd& last_end);
    void show_occurrence(std::string_view text, Matcher::Span match);
    [[nodiscard]] Matcher::Span first_match(std::string_view text, Matcher::Span line);
    [[nodiscard]] bool begin_unit();
    void fit_before();
    void emit_context(std::uint64_t number, std::string_view text);
    void add(protocol::GrepLine line);
    [[nodiscard]] bool finished() const noexcept;

    const Matcher& matcher_;
    const RenderOptions& options_;
    TextBudget& budget_;
    protocol::GrepFile& out_;
    std::deque<protocol::GrepLine> before_;
    ScanMeter* meter_ = nullptr; ///< of the reader, during render()
    std::uint64_t skip_ = 0;
    std::uint64_t end_ = 0; ///< skip + take
    std::uint64_t units_ = 0;
    std::uint64_t line_ = 1; ///< number of the line that comes next
    std::uint64_t after_left_ = 0;
    bool open_line_matched_ = false;
    bool match_due_; ///< until the first match of the reply is shown
};

} // namespace berth::guest::search
