#include "sandbox/filter/body.hpp"

#include "sandbox/filter/request.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

namespace berth::filter {
namespace {

constexpr unsigned bad_request = 400;
/// Of a size with its extensions, or of a trailer.
constexpr std::size_t longest_line = 4096;
constexpr std::size_t most_trailers = 16UL * 1024;
/// Far from where what is counted with it overflows.
constexpr std::uint64_t longest_chunk = std::uint64_t{1} << 62U;

BadRequest unreadable(const char* what)
{
    return {.status = bad_request, .reason = std::string(what) + " of its body cannot be read"};
}

/// A size in hexadecimal digits, and extensions behind ";".
std::uint64_t size_of_chunk(std::string_view line)
{
    std::uint64_t size = 0;
    const auto [stop, error] = std::from_chars(line.data(), line.data() + line.size(), size, 16);
    const auto rest = line.substr(static_cast<std::size_t>(stop - line.data()));
    if (error != std::errc() || size > longest_chunk || (!rest.empty() && rest.front() != ';') ||
        !is_field_text(rest)) {
        throw unreadable("a chunk");
    }
    return size;
}

/// Some servers treat it like a field of the head: it must be none by which they find out where a
/// request goes or ends.
void require_trailer(std::string_view line)
{
    constexpr std::array<std::string_view, 4> forbidden{"connection", "content-length", "host",
                                                        "transfer-encoding"};
    const auto field = read_field(line);
    if (std::ranges::find(forbidden, field.key) != forbidden.end()) {
        throw unreadable("a trailer");
    }
}

} // namespace

Body::Body(std::optional<std::uint64_t> length) noexcept
    : part_(!length ? Part::size : (*length > 0 ? Part::bytes : Part::end)),
      left_(length.value_or(0))
{
}

std::size_t Body::take(std::string_view bytes)
{
    const auto all = bytes.size();
    while (!bytes.empty() && part_ != Part::end) {
        if (part_ == Part::bytes || part_ == Part::chunk) {
            take_bytes(bytes);
        } else if (take_line(bytes)) {
            end_line();
            line_.clear();
        }
    }
    return all - bytes.size();
}

void Body::take_bytes(std::string_view& bytes)
{
    const auto taken = std::min<std::uint64_t>(left_, bytes.size());
    bytes.remove_prefix(static_cast<std::size_t>(taken));
    left_ -= taken;
    if (left_ == 0) {
        part_ = part_ == Part::chunk ? Part::chunk_end : Part::end;
    }
}

bool Body::take_line(std::string_view& bytes)
{
    const auto end = bytes.find('\n');
    const auto size = end == std::string_view::npos ? bytes.size() : end + 1;
    line_ += bytes.substr(0, size);
    bytes.remove_prefix(size);
    if (line_.size() > longest_line ||
        (end != std::string_view::npos && !line_.ends_with("\r\n"))) {
        throw unreadable("a line");
    }
    return end != std::string_view::npos;
}

void Body::end_line()
{
    const auto line = std::string_view(line_).substr(0, line_.size() - 2);
    if (part_ == Part::size) {
        left_ = size_of_chunk(line);
        part_ = left_ == 0 ? Part::trailer : Part::chunk;
    } else if (part_ == Part::chunk_end) {
        if (!line.empty()) {
            throw unreadable("a chunk");
        }
        part_ = Part::size;
    } else if (line.empty()) {
        part_ = Part::end;
    } else {
        require_trailer(line);
        trailers_ += line_.size();
        if (trailers_ > most_trailers) {
            throw unreadable("a trailer");
        }
    }
}

} // namespace berth::filter
