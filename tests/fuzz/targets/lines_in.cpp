// The lines of standard input, in whatever pieces they come: LIMIT, a byte ==== TEXT.

#include "server/transport/line_reader.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"

#include <algorithm>
#include <string>

namespace {

class Log {
  public:
    explicit Log(std::size_t limit)
        : limit_(limit),
          reader_(limit, {.line =
                              [this](std::string_view line) {
                                  berth::fuzz::require(line.size() <= limit_ &&
                                                           line.find('\n') == line.npos,
                                                       "a line is one, and not too long");
                                  text_.append("line ").append(line).append("\n");
                              },
                          .skipped = [this](std::string_view bytes) { text_ += bytes; },
                          .too_long = [this] { text_ += " too long\n"; }})
    {
    }

    void feed(std::string_view bytes)
    {
        std::ranges::copy(bytes, reader_.prepare(bytes.size()));
        reader_.commit(bytes.size());
    }

    const std::string& finish()
    {
        reader_.finish();
        return text_;
    }

  private:
    std::size_t limit_;
    std::string text_;
    berth::transport::LineReader reader_;
};

} // namespace

BERTH_FUZZ_TARGET(lines_in)
{
    const auto [byte, text] = berth::fuzz::parts_of<2>(input);
    const std::size_t limit = 1UL + berth::fuzz::byte_at(byte, 0);
    Log whole(limit);
    whole.feed(text);
    Log pieces(limit);
    berth::fuzz::each_piece(text, [&](std::string_view piece) { pieces.feed(piece); });
    berth::fuzz::require(whole.finish() == pieces.finish(), "pieces make no difference");
}
