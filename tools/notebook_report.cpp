#include "tools/notebook_report.hpp"

#include "sandbox/base/base64.hpp"
#include "sandbox/base/utf8.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/protocol/folded_text.hpp"
#include "tools/output_budget.hpp"
#include "tools/picture.hpp"
#include "tools/read_report.hpp"
#include "tools/render.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace berth::tools {
namespace {

/// Characters of one output that are shown.
constexpr std::size_t output_budget = 2000;
constexpr std::size_t most_pictures = 10;

std::string with_newline(std::string text)
{
    if (!text.empty() && !text.ends_with('\n')) {
        text += '\n';
    }
    return text;
}

std::string shortened(std::string_view text)
{
    // Bars are drawn over themselves: in a notebook each state of them is kept.
    protocol::FoldedText folded(text.size(), 0);
    folded.add(text);
    protocol::StreamOutput stream;
    folded.put_into(stream);
    std::string storage;
    // Tracebacks are coloured.
    constexpr auto treatment = ControlCharacters::strip;
    return with_newline(to_text(fit(stream, output_budget, treatment, storage), treatment).text);
}

/// The text of cells, one after the other, and the pictures of their outputs.
class Cells {
  public:
    explicit Cells(std::uint64_t picture_budget) : picture_budget_(picture_budget) {}

    /// What `cell`, the `number`th from 1, looks like. Its pictures are kept until keep().
    [[nodiscard]] std::string text_of(const NotebookCell& cell, std::uint64_t number)
    {
        added_.clear();
        std::string text =
            "--- cell " + std::to_string(number) + " (" +
            visible(cell.type.empty() ? "no type" : cell.type) +
            (cell.execution_count ? ", executed as [" + std::to_string(*cell.execution_count) + "]"
                                  : "") +
            ") ---\n" + with_newline(utf8::sanitize(cell.source));
        for (const auto& output : cell.outputs) {
            text += text_of(output);
        }
        return text;
    }

    /// The cell that was looked at last is shown.
    void keep()
    {
        for (auto& picture : added_) {
            picture_budget_ -= picture.data.size();
            pictures_.push_back(std::move(picture));
        }
        added_.clear();
    }

    [[nodiscard]] std::vector<Image> take_pictures() { return std::move(pictures_); }

  private:
    std::string text_of(const NotebookOutput& output)
    {
        if (output.type == "error") {
            return "[error: " +
                   visible(prefix_characters(output.error_name + ": " + output.error_value,
                                             output_budget)) +
                   "]\n" + shortened(output.traceback);
        }
        std::string text = shortened(output.markdown.empty() ? output.text : output.markdown);
        std::string pictures;
        bool named = false;
        for (const auto& media : output.media) {
            // SVG is text, and nothing that a model could be shown.
            const bool is_picture = media.type.starts_with("image/") && !media.value.empty() &&
                                    media.type != "image/svg+xml";
            pictures += is_picture ? picture_line(media)
                        : text.empty() && !named
                            ? "[" + visible(media.type) + ": not shown, raw: true has it]\n"
                            : "";
            named = true;
        }
        // A picture's plain form is "<Figure size 640x480 with 1 Axes>".
        const bool only_stands_for_it = !pictures.empty() && output.text.starts_with('<');
        if (text.empty() && pictures.empty()) {
            return {};
        }
        const std::string head = output.type == "stream"
                                     ? (output.name == "stderr" ? "[stderr]\n" : "[stdout]\n")
                                     : "[output]\n";
        return head + (only_stands_for_it ? "" : text) + pictures;
    }

    std::string picture_line(const NotebookOutput::Media& media)
    {
        const auto data = base64_decode(media.value);
        const std::string fault =
            !data ? "its base64 is damaged" : picture_fault(*data, media.type);
        const std::string what =
            visible(media.type) + (data ? ", " + human_bytes(data->size()) : "");
        if (!fault.empty()) {
            return "[" + what + ": not shown, " + fault + "]\n";
        }
        std::uint64_t pending = 0;
        for (const auto& picture : added_) {
            pending += picture.data.size();
        }
        if (pictures_.size() + added_.size() >= most_pictures ||
            pending + data->size() > picture_budget_) {
            return "[" + what + ": not shown, too many or too large pictures for one result; " +
                   "read this cell alone]\n";
        }
        added_.push_back({*data, media.type});
        return "[picture " + std::to_string(pictures_.size() + added_.size()) + " below: " + what +
               "]\n";
    }

    std::uint64_t picture_budget_; ///< bytes
    std::vector<Image> pictures_;
    std::vector<Image> added_; ///< of the cell that was looked at last
};

/// The cells that are shown.
struct ShownCells {
    std::string text;
    std::uint64_t count = 0;
    std::string cut; ///< not empty: the only one is too long, and how much of it is shown
};

ShownCells show_cells(const Notebook& notebook, std::uint64_t first, std::uint64_t end,
                      std::uint64_t budget, Cells& cells)
{
    ShownCells shown;
    std::uint64_t left = budget;
    for (std::uint64_t i = first; i < end; ++i) {
        const auto text = cells.text_of(notebook.cells[static_cast<std::size_t>(i)], i + 1);
        const std::uint64_t needed = utf8::count(text);
        if (needed > left && shown.count > 0) {
            break;
        }
        cells.keep();
        ++shown.count;
        if (needed > left) {
            shown.text =
                with_newline(std::string(prefix_characters(text, static_cast<std::size_t>(left))));
            shown.cut = "cell " + thousands(i + 1) +
                        " is too long and was cut: these are its first " + thousands(left) +
                        " of " + thousands(needed) + " characters; raw: true shows the rest";
            break;
        }
        shown.text += text;
        left -= needed;
    }
    return shown;
}

std::string cells_phrase(std::uint64_t first, std::uint64_t count, std::uint64_t total)
{
    if (total == 0) {
        return "no cells";
    }
    if (count == 0) {
        return "offset " + thousands(first) + " is past the end: it has " + counted(total, "cell");
    }
    if (count == total) {
        return counted(total, "cell");
    }
    return (count == 1 ? "cell " + thousands(first + 1)
                       : "cells " + thousands(first + 1) + "–" + thousands(first + count)) +
           " of " + thousands(total);
}

} // namespace

Result notebook_report(const protocol::ReadFileReply& reply, const Notebook& notebook,
                       const CellRange& range, const Settings& settings)
{
    constexpr std::uint64_t bytes_of_four = 3; // in base64
    const std::uint64_t total = notebook.cells.size();
    const std::uint64_t first = first_of(range.offset, total);
    const std::uint64_t end = first + std::min(range.limit, total - std::min(first, total));
    Cells cells(settings.read_image / 4 * bytes_of_four);
    ShownCells shown = show_cells(notebook, first, end, settings.read_budget, cells);
    const std::uint64_t next = first + shown.count;
    const bool more = shown.count > 0 && next < total;

    const std::string what =
        notebook.language.empty() ? "notebook" : "notebook in " + visible(notebook.language);
    const std::string about = what + ": " + cells_phrase(first, shown.count, total);
    const std::string header = status_line(
        {about, shown.cut, more ? "next: offset " + std::to_string(next) : "",
         "edit_file takes the text that raw: true shows", short_hash("", reply.sha256)});
    auto data = read_data(reply, about);
    data["kind"] = "notebook";
    data["content"] = shown.text;
    data["first_line"] = shown.count > 0 ? first + 1 : 0;
    data["line_count"] = shown.count;
    data["total_lines"] = total;
    data["truncated_by"] = !shown.cut.empty() ? "line"
                           : next < end       ? "budget"
                           : more             ? "limit"
                                              : "";
    data["next_offset"] = more ? next : 0;
    Result result(header + "\n" + shown.text, std::move(data));
    result.images = cells.take_pictures();
    return result;
}

} // namespace berth::tools
