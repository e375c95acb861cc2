#include "sandbox/base/error.hpp"
#include "sandbox/base/visible.hpp"
#include "tools/claude/dialect.hpp"
#include "tools/decode.hpp"
#include "tools/render.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace berth::tools::claude {
namespace {

using nlohmann::json;

/// As lines are numbered here, a final newline begins one more, which is empty.
std::uint64_t lines_here(const json& data)
{
    return data.at("total_lines").get<std::uint64_t>() +
           (data.at("final_newline") == true && data.at("size_bytes") != 0 ? 1U : 0U);
}

/// The first line that was asked for, from 1.
std::uint64_t first_asked(const json& arguments)
{
    const auto* offset = given(arguments, "offset");
    return offset == nullptr ? 1 : std::max<std::uint64_t>(offset->get<std::uint64_t>(), 1);
}

/// The tool's numbered lines, without those above them that begin with a bracket, where no numbered
/// one does.
std::string numbered_lines(std::string text)
{
    while (text.starts_with('[')) {
        text.erase(0, std::min(text.find('\n'), text.size() - 1) + 1);
    }
    if (text.ends_with('\n')) {
        text.pop_back();
    }
    return text;
}

std::string reminder(const std::string& text)
{
    return "<system-reminder>Warning: the file exists but " + text + "</system-reminder>";
}

std::string nothing_to_show(const json& arguments, const json& data)
{
    if (data.at("total_lines") == 0) {
        return reminder("the contents are empty.");
    }
    return reminder("is shorter than the provided offset (" +
                    std::to_string(first_asked(arguments)) + "). The file has " +
                    std::to_string(lines_here(data)) + " lines.");
}

/// What the tool says above the lines, as far as a caller could not see it or did not ask for it.
std::vector<std::string> remarks(const json& arguments, const json& data)
{
    std::vector<std::string> parts;
    const auto& cut_by = data.at("truncated_by").get_ref<const std::string&>();
    const auto next = data.at("next_offset").get<std::uint64_t>();
    if (cut_by == "line") {
        parts.push_back("line " + data.at("first_line").dump() +
                        " is too long and is cut: cut -c in Bash shows the rest");
    }
    if (next > 0 && !cut_by.empty() &&
        (cut_by != "limit" || given(arguments, "limit") == nullptr)) {
        parts.push_back("lines " + data.at("first_line").dump() + "–" + std::to_string(next) +
                        " of " + (data.at("totals_partial") == true ? "at least " : "") +
                        std::to_string(lines_here(data)) + " are shown; next: offset " +
                        std::to_string(next + 1));
    }
    const auto& encoding = data.at("encoding").get_ref<const std::string&>();
    if (encoding == "invalid-utf-8") {
        parts.emplace_back("not valid UTF-8: U+FFFD stands for each invalid byte; Edit keeps them, "
                           "its old_string cannot name them");
    } else if (!encoding.empty() && encoding != "utf-8" && encoding != "utf-8-bom") {
        parts.push_back("encoding " + encoding);
    }
    if (data.at("line_ending") == "mixed") {
        parts.emplace_back("mixed LF and CRLF line ends");
    }
    return parts;
}

std::string text_of(const json& arguments, const json& data, std::string text)
{
    const auto shown = data.at("line_count").get<std::uint64_t>();
    const bool partial = data.at("totals_partial") == true;
    const auto total = data.at("total_lines").get<std::uint64_t>();
    const auto last = shown > 0 ? data.at("first_line").get<std::uint64_t>() + shown - 1
                                : first_asked(arguments) - 1;
    if (shown == 0 && (last != total || lines_here(data) == total || partial || total == 0)) {
        return nothing_to_show(arguments, data);
    }
    std::string lines = shown > 0 ? numbered_lines(std::move(text)) : "";
    const auto* limit = given(arguments, "limit");
    const bool room = limit == nullptr || limit->get<std::uint64_t>() > shown;
    if (room && !partial && last == total && lines_here(data) > total &&
        data.at("truncated_by") == "") {
        lines += (lines.empty() ? "" : "\n") + std::to_string(total + 1) + "\t";
    }
    const auto remark = status_line(remarks(arguments, data));
    return lines + (remark.empty() ? "" : "\n\n" + remark);
}

/// Of a picture `what` says nothing that helps: it is one, and cannot be shown.
Error binary(const json& data)
{
    const auto& mime = data.at("mime_type").get_ref<const std::string&>();
    const std::string about =
        "This tool cannot read binary files. The file is " + data.at("message").get<std::string>();
    if (mime.starts_with("image/")) {
        return {ErrorCode::unsupported, about + ", a picture that is damaged or too large",
                "PNG, JPEG, GIF and WebP are shown up to 8000 by 8000 pixels and the operator's "
                "read.image: make a smaller copy with a program in the sandbox."};
    }
    return {ErrorCode::unsupported, about,
            "Look at it with a program in the sandbox, such as file, strings or xxd in Bash."};
}

} // namespace

std::string Read::describe(const Settings& settings, sandbox::Backend& /*backend*/)
{
    return "Reads a file of the sandbox. Text comes as numbered lines (number, tab, line), at "
           "most " +
           std::to_string(settings.read_limit) + " of them or " +
           std::to_string(settings.read_budget) +
           " characters; a last line in brackets says where to go on when that was not all. offset "
           "is the number of the first line to show, limit how many.\n\n"
           "Pictures (PNG, JPEG, GIF, WebP) are shown, notebooks by cell with their outputs, PDFs "
           "by page (pages: \"1-5\") and archives by entry. Other binary files and directories "
           "are not: use a program in the sandbox, or Glob.\n\n"
           "Any path in the sandbox can be read, relative ones start at the working directory. To "
           "change what you read, pass text without the line numbers to Edit.\n\n"
           "Example: {\"file_path\": \"src/main.c\", \"offset\": 101, \"limit\": 50}";
}

json Read::canonical(const json& arguments, const Settings& /*settings*/)
{
    std::string path;
    std::int64_t offset = 1;
    std::optional<std::int64_t> limit;
    std::optional<std::string> pages;
    Decoder in(arguments);
    in.required("file_path", path, Length{1});
    in.optional("offset", offset, Range{0, max_count});
    in.optional("limit", limit, Range{1, max_count});
    in.optional("pages", pages);
    in.finish();
    json own{{"path", path}};
    if (offset > 1) {
        own["offset"] = offset - 1; // `read_file` counts the lines to skip
    }
    if (limit) {
        own["limit"] = *limit;
    }
    if (pages) {
        own["pages"] = *pages;
    }
    return own;
}

void Read::phrase(const json& arguments, const Settings& /*settings*/, Result& result)
{
    const auto& data = *result.data;
    const auto& kind = data.at("kind").get_ref<const std::string&>();
    if (kind == "directory") {
        throw Error(ErrorCode::is_directory,
                    "EISDIR: illegal operation on a directory, read '" +
                        visible(data.at("path").get<std::string>()) + "'",
                    "List it with ls in Bash, or find files in it with Glob.");
    }
    if (kind == "binary") {
        throw binary(data);
    }
    if (kind == "text") {
        result.text = text_of(arguments, data, std::move(result.text));
    }
}

std::optional<Error> Read::explain(const json& /*arguments*/, const Error& error)
{
    return explain_missing(error, "File does not exist.");
}

} // namespace berth::tools::claude
