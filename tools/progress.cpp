#include "tools/progress.hpp"

#include "sandbox/base/utf8.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/protocol/folded_text.hpp"
#include "tools/output_budget.hpp"
#include "tools/render.hpp"

#include <algorithm>
#include <string_view>

namespace berth::tools {
namespace {

/// Milliseconds from one notification to the next while output comes.
constexpr std::uint64_t apart = 1000;
constexpr std::string_view blanks = " \t\v\f\r";
constexpr std::string_view ellipsis = "…";

struct LineState {
    std::string text;
    bool is_first = false; ///< the line was not begun anew
};

/// What a terminal would have: each carriage return, or a sequence that does the same, begins the
/// line anew.
LineState as_it_stands(std::string_view line)
{
    protocol::FoldedText folded(line.size(), 0);
    folded.add(line);
    protocol::StreamOutput out;
    folded.put_into(out);
    std::string_view state = out.head;
    state = state.substr(0, state.find_last_not_of('\r') + 1);
    const auto last = state.rfind('\r'); // of what is too long to be folded
    const bool begun_anew = last != std::string_view::npos;
    return {.text = std::string(begun_anew ? state.substr(last + 1) : state),
            .is_first = !begun_anew && line.starts_with(state)};
}

std::string_view without_blanks_behind(std::string_view line)
{
    return line.substr(0, line.find_last_not_of(blanks) + 1);
}

/// Blanks are taken off twice: in front of a sequence that is left out there may be some too.
std::string shown(std::string_view line, ControlCharacters treatment)
{
    auto text = show(without_blanks_behind(line), treatment).text;
    text.resize(without_blanks_behind(text).size());
    std::replace(text.begin(), text.end(), '\t', ' ');
    return text;
}

/// The text may begin in the middle of a character.
std::string_view without_half_a_character(std::string_view text)
{
    constexpr std::size_t longest = 4;
    for (std::size_t i = 0; i < longest && i < text.size(); ++i) {
        if ((static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U) {
            return text.substr(i);
        }
    }
    return text; // not UTF-8 anyway
}

std::string first_characters(std::string text, std::size_t room)
{
    if (utf8::count(text) <= room) {
        return text;
    }
    return std::string(prefix_characters(text, room - 1)).append(ellipsis);
}

} // namespace

std::string last_lines(const protocol::PrintedTail& tail, ControlCharacters treatment)
{
    std::string_view rest = tail.text;
    std::string text;
    std::size_t room = progress_characters;
    for (std::size_t lines = 0; lines < progress_lines && room > 1 && !rest.empty();) {
        if (rest.ends_with('\n')) {
            rest.remove_suffix(1);
        }
        const auto newline = rest.rfind('\n');
        const bool whole = newline != std::string_view::npos;
        const auto full = whole ? rest.substr(newline + 1) : rest;
        rest = whole ? rest.substr(0, newline + 1) : std::string_view();
        const auto line = as_it_stands(full);
        const bool cut = !whole && line.is_first && tail.total_bytes > tail.text.size();
        std::string part = shown(cut ? without_half_a_character(line.text) : line.text, treatment);
        if (part.empty()) {
            continue;
        }
        if (cut) {
            part.insert(0, ellipsis);
        }
        part = first_characters(std::move(part), room);
        room -= std::min(room, utf8::count(part) + 1);
        if (!text.empty()) {
            part.append(1, '\n').append(text);
        }
        text = std::move(part);
        ++lines;
    }
    return text;
}

std::uint64_t wanted_progress(const Context& context)
{
    return context.progress ? apart : 0;
}

sandbox::Printed show_printed(const Context& context)
{
    if (!context.progress) {
        return {};
    }
    return [&context](const protocol::PrintedTail& tail) {
        if (auto text = last_lines(tail, context.settings.control_characters); !text.empty()) {
            context.progress(std::move(text));
        }
    };
}

void TransferProgress::begin(std::string_view name)
{
    ++files_;
    if (progress_) {
        name_ = first_characters(visible(name), progress_characters / 2);
        tell();
    }
}

void TransferProgress::add(std::size_t bytes)
{
    bytes_ += bytes;
    if (progress_) {
        tell();
    }
}

void TransferProgress::tell() const
{
    progress_(name_ + "\n[" + counted(files_, "file") + " · " + human_bytes(bytes_) + " so far]");
}

} // namespace berth::tools
