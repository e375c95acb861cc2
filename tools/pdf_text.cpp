#include "tools/pdf_text.hpp"

#include "sandbox/base/utf8.hpp"
#include "tools/output_budget.hpp"
#include "tools/read_report.hpp"
#include "tools/render.hpp"
#include "tools/sandbox_program.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

namespace berth::tools {
namespace {

constexpr int total_unknown = 66;

/// First one line: how many pages there are, 0 where that is not known, and the first one read.
constexpr std::string_view script_text = R"(
command -v pdftotext >/dev/null || exit 127
total=$(pdfinfo "$BERTH_FILE" 2>/dev/null | sed -n 's/^Pages: *\([0-9]\{1,9\}\)$/\1/p' | tail -n 1)
first=$((BERTH_SKIP + 1))
if [ "$BERTH_FROM_END" -gt 0 ]; then
    [ -n "$total" ] || exit 66
    first=$((total - BERTH_FROM_END + 1))
    [ "$first" -ge 1 ] || first=1
fi
last=$((first + BERTH_COUNT - 1))
[ -z "$total" ] || [ "$last" -le "$total" ] || last=$total
printf '%s %s\n' "${total:-0}" "$first"
[ "$first" -le "$last" ] || exit 0
pdftotext -layout -enc UTF-8 -f "$first" -l "$last" "$BERTH_FILE" - | head -c "$BERTH_BYTES"
exit "${PIPESTATUS[0]}"
)";

/// The number at the beginning of `text`, which is taken off.
std::uint64_t take_number(std::string_view& text)
{
    std::uint64_t number = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), number).ptr;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

/// Bytes of text that are read: more than can be shown.
std::uint64_t most_text(const Settings& settings)
{
    constexpr std::uint64_t widest_character = 4;
    constexpr std::uint64_t more_than_is_shown = 1024;
    return settings.read_budget * widest_character + more_than_is_shown;
}

SandboxScript script_for(const ReadFile::Args& args, const std::string& path,
                         const Settings& settings)
{
    constexpr std::uint64_t first_line = 64;
    const bool from_end = args.offset < 0;
    const std::uint64_t most = most_text(settings);
    SandboxScript script;
    script.text = script_text;
    script.variables = {
        {"BERTH_FILE", path},
        {"BERTH_SKIP", std::to_string(from_end ? 0 : args.offset)},
        {"BERTH_FROM_END", std::to_string(from_end ? -args.offset : 0)},
        {"BERTH_COUNT", std::to_string(args.limit.value_or(static_cast<std::int64_t>(pdf_pages)))},
        {"BERTH_BYTES", std::to_string(most)}};
    script.most_output = most + first_line;
    return script;
}

std::string no_text(const ScriptOutput& output, bool has_pages)
{
    if (output.exit_code == program_missing && !has_pages) {
        return "its text can be read where the sandbox has pdftotext (package poppler-utils), "
               "which this one does not have";
    }
    if (output.exit_code == total_unknown && !has_pages) {
        return "its pages cannot be counted from the end without pdfinfo, which this sandbox does "
               "not have";
    }
    return output.exit_code != 0 && !has_pages ? "its text cannot be read: " + output.complaint
                                               : "";
}

std::vector<std::string_view> pages_of(std::string_view text)
{
    std::vector<std::string_view> pages;
    while (!text.empty()) {
        const auto end = std::min(text.find('\f'), text.size());
        pages.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return pages;
}

std::string page_text(std::string_view page, std::uint64_t number)
{
    while (!page.empty() && (page.back() == '\n' || page.back() == ' ')) {
        page.remove_suffix(1);
    }
    return "--- page " + std::to_string(number) + " ---\n" +
           (page.empty() ? std::string("(no text on this page)") : utf8::sanitize(page)) + "\n";
}

/// Of a page that alone does not fit. `ends_early`: pdftotext gave no more of it.
std::string cut_phrase(std::uint64_t number, bool ends_early)
{
    const std::string digits = std::to_string(number);
    return ends_early ? "page " + digits + " is not whole"
                      : "page " + digits + " is too long and is cut: pdftotext -f " + digits +
                            " -l " + digits + " FILE - in bash_exec shows the whole";
}

struct ShownPages {
    std::string text;
    std::uint64_t count = 0;
    std::string cut; ///< not empty: how much of the only page is shown
};

ShownPages show_pages(const PdfPages& pages, const std::vector<std::string_view>& texts,
                      std::uint64_t budget)
{
    ShownPages shown;
    std::uint64_t left = budget;
    for (const auto& page : texts) {
        const std::uint64_t number = pages.first + shown.count;
        const auto text = page_text(page, number);
        const std::uint64_t needed = utf8::count(text);
        const bool unfinished = pages.cut && &page == &texts.back();
        const bool fits = needed <= left && !unfinished;
        if (!fits && shown.count > 0) {
            break;
        }
        ++shown.count;
        if (!fits) {
            shown.text = prefix_characters(text, static_cast<std::size_t>(left));
            shown.text += shown.text.ends_with('\n') ? "" : "\n";
            shown.cut = cut_phrase(number, needed <= left && !pages.complaint.empty());
            break;
        }
        shown.text += text;
        left -= needed;
    }
    return shown;
}

std::string pages_phrase(const PdfPages& pages, std::uint64_t count)
{
    if (count == 0) {
        return pages.total == 0 ? "no pages"
                                : "offset " + thousands(pages.first - 1) +
                                      " is past the end: it has " + counted(pages.total, "page");
    }
    const std::string first = thousands(pages.first);
    return (count == 1 ? "page " + first
                       : "pages " + first + "–" + thousands(pages.first + count - 1)) +
           (pages.total == 0 ? "" : " of " + thousands(pages.total));
}

} // namespace

Result pdf_report(const protocol::ReadFileReply& reply, const PdfPages& pages,
                  const Settings& settings)
{
    const auto texts = pages_of(pages.text);
    const ShownPages shown = show_pages(pages, texts, settings.read_budget);
    const std::uint64_t next = pages.first - 1 + shown.count;
    const bool more = shown.count > 0 &&
                      (pages.total == 0 ? texts.size() >= pages.asked || shown.count < texts.size()
                                        : next < pages.total);
    const bool blank = std::all_of(texts.begin(), texts.end(), [](std::string_view page) {
        return page.find_first_not_of(" \n") == std::string_view::npos;
    });
    const std::string about =
        "PDF, " + human_bytes(reply.size) + ": " + pages_phrase(pages, shown.count);
    const std::string header = status_line(
        {about, shown.cut,
         blank && shown.count > 0 ? "no text: the pages are pictures, which pdftoppm in bash_exec "
                                    "turns into files"
                                  : "",
         pages.complaint, more ? "next: offset " + std::to_string(next) : "",
         short_hash("", reply.sha256)});
    auto data = read_data(reply, about);
    data["kind"] = "pdf";
    data["content"] = shown.text;
    data["first_line"] = shown.count > 0 ? pages.first : 0;
    data["line_count"] = shown.count;
    data["total_lines"] = pages.total == 0 ? next : pages.total;
    data["totals_partial"] = pages.total == 0;
    data["truncated_by"] = !shown.cut.empty()                        ? "line"
                           : shown.count < texts.size() || pages.cut ? "budget"
                           : more                                    ? "limit"
                                                                     : "";
    data["next_offset"] = more ? next : 0;
    return {header + "\n" + shown.text, std::move(data)};
}

Result pdf_text(Context& context, const ReadFile::Args& args, const protocol::ReadFileReply& reply)
{
    const auto script = script_for(args, reply.path, context.settings);
    const auto output = run_script(context, script);
    std::string_view text = output.out;
    PdfPages pages;
    pages.total = take_number(text);
    text.remove_prefix(std::min<std::size_t>(1, text.size()));
    pages.first = std::max<std::uint64_t>(take_number(text), 1);
    text.remove_prefix(std::min<std::size_t>(1, text.size()));
    pages.asked =
        static_cast<std::uint64_t>(args.limit.value_or(static_cast<std::int64_t>(pdf_pages)));
    if (const auto why = no_text(output, !text.empty()); !why.empty()) {
        return described(reply, why);
    }
    pages.text = text;
    // What was cut in the midst of a page has no form feed at its end.
    const bool full = text.size() >= most_text(context.settings);
    pages.cut = !text.empty() && (!text.ends_with('\f') || full);
    // The program was told to stop where there was enough; any other failure is one.
    pages.complaint = output.exit_code != 0 && !full ? output.complaint : "";
    return pdf_report(reply, pages, context.settings);
}

} // namespace berth::tools
