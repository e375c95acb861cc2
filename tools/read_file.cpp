#include "tools/read_file.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/visible.hpp"
#include "tools/archive_listing.hpp"
#include "tools/decode.hpp"
#include "tools/notebook_report.hpp"
#include "tools/pdf_text.hpp"
#include "tools/picture.hpp"
#include "tools/picture_advice.hpp"
#include "tools/read_report.hpp"
#include "tools/render.hpp"
#include "tools/sandbox_call.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

namespace berth::tools {
namespace {

/// What the guest is asked for at most: a budget in characters may need four bytes for each.
constexpr std::uint64_t widest_character = 4;
/// What is held beside other results without being counted: so much comes with one request.
constexpr std::uint64_t uncounted = 96ULL * 1024;
/// Of a picture, the file and twice its base64, in the result and in the message; of a notebook,
/// its text and what is made of that.
constexpr std::uint64_t held_for_a_byte = 4;

/// Bytes whose base64 fits into the budget.
std::uint64_t base64_budget(const Settings& settings)
{
    return std::max<std::uint64_t>(settings.read_budget / 4 * 3, 3);
}

/// Of a picture that is shown: what limits it counts it in base64, four characters for three bytes.
std::uint64_t picture_bytes(const Settings& settings)
{
    return settings.read_image / 4 * 3;
}

protocol::ReadFileReply ask(Context& context, const protocol::ReadFileRequest& request)
{
    return with_sandbox(context, [&](sandbox::Sandbox& sandbox) {
        return sandbox.read_file(request, context.stop);
    });
}

bool is_larger(const protocol::ReadFileReply& reply, std::uint64_t most)
{
    return reply.size > uncounted && reply.size <= most;
}

/// A picture that is large is described first: many that are read at once must not cost memory
/// before there is room for them.
protocol::ReadFileReply ask_counted(Context& context, const ReadFile::Args& args)
{
    auto request = ReadFile::request(args, context.settings);
    const auto most = request.image_limit;
    request.image_limit = std::min(most, uncounted);
    auto reply = ask(context, request);
    if (!args.base64 && reply.kind == protocol::FileKind::binary &&
        reply.mime_type.starts_with("image/") && is_larger(reply, most)) {
        context.hold(reply.size * held_for_a_byte);
        request.image_limit = reply.size;
        reply = ask(context, request);
    }
    return reply;
}

bool names_notebook(const ReadFile::Args& args)
{
    return !args.raw && !args.base64 && args.path.ends_with(".ipynb");
}

constexpr std::string_view pdf_type = "application/pdf";

/// "3" or "2-5": the pages of a PDF, as the offset and the limit that they are.
void take_pages(std::string_view pages, ReadFile::Args& args)
{
    constexpr std::size_t most_digits = 9;
    const auto number = [](std::string_view text) {
        std::int64_t value = 0;
        const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
        const bool good = fault == std::errc() && end == text.data() + text.size() && value > 0 &&
                          text.front() != '0' && text.size() <= most_digits;
        return good ? value : 0;
    };
    const auto dash = pages.find('-');
    const auto first = number(pages.substr(0, dash));
    const auto last = dash == std::string_view::npos
                          ? first
                          : number(pages.substr(std::min(dash + 1, pages.size())));
    if (first == 0 || last == 0) {
        throw Error(ErrorCode::invalid_argument, "pages: expected a page or a range of pages",
                    "Write pages as \"3\" or \"2-5\"; the first page is 1.");
    }
    if (last < first) {
        throw Error(ErrorCode::invalid_argument, "pages: the range ends before it begins",
                    "Write the lower page first, as in \"2-5\".");
    }
    if (args.offset != 0 || args.limit) {
        throw Error(ErrorCode::invalid_argument, "both pages and offset or limit were given",
                    "Of a PDF, offset and limit count pages: pages \"2-5\" is offset 1, limit 4.");
    }
    args.pages = true;
    args.offset = first - 1;
    args.limit = last - first + 1;
}

/// A report, or why there is none.
struct Attempt {
    std::optional<Result> result;
    std::string note; ///< may be empty
};

Attempt read_notebook(Context& context, const ReadFile::Args& args)
{
    protocol::ReadFileRequest whole;
    whole.path = args.path;
    whole.encoding = protocol::Encoding::bytes;
    whole.limit = uncounted;
    auto reply = ask(context, whole);
    if (is_larger(reply, max_notebook_size)) {
        context.hold(reply.size * held_for_a_byte);
        whole.limit = max_notebook_size;
        reply = ask(context, whole);
    }
    if (reply.kind == protocol::FileKind::directory) {
        return {};
    }
    if (reply.content.size() < reply.size) {
        return {{}, "not shown as a notebook: it is above 16 MiB"};
    }
    const Notebook notebook = parse_notebook(reply.content);
    if (!notebook.fault.empty()) {
        return {{}, "not shown as a notebook: " + notebook.fault};
    }
    const CellRange range = {args.offset,
                             static_cast<std::uint64_t>(args.limit.value_or(
                                 static_cast<std::int64_t>(context.settings.read_limit)))};
    return {notebook_report(reply, notebook, range, context.settings), {}};
}

/// How a picture that is too large can be made smaller; empty: it is none, or it is not too large.
std::string advice_for(Context& context, const ReadFile::Args& args,
                       const protocol::ReadFileReply& reply)
{
    constexpr std::uint64_t header = 512ULL * 1024; // of a JPEG from a camera, its preview before
    if (reply.kind == protocol::FileKind::image) {
        const auto size = picture_size(reply.content, reply.mime_type);
        return size && std::max(size->width, size->height) > most_pixels
                   ? picture_advice(context, reply.path, {}, reply.mime_type)
                   : "";
    }
    if (reply.kind != protocol::FileKind::binary || !reply.mime_type.starts_with("image/") ||
        reply.size <= picture_bytes(context.settings)) {
        return {};
    }
    protocol::ReadFileRequest request;
    request.path = args.path;
    request.encoding = protocol::Encoding::bytes;
    request.limit = header;
    const auto beginning = ask(context, request).content;
    return picture_advice(context, reply.path, beginning, reply.mime_type);
}

} // namespace

std::span<const Alias> ReadFile::aliases()
{
    static constexpr std::array table = {
        Alias{"file_path", "path"},
        Alias{"allow_large", ""},
        Alias{.from = "encoding", .to = "utf-8", .value = "text"},
        Alias{.from = "encoding", .to = "utf-8", .value = "utf8"},
        Alias{.from = "byte_offset",
              .to = "",
              .unsupported = "With encoding base64, offset and limit count bytes."},
        Alias{.from = "max_bytes",
              .to = "",
              .unsupported = "limit counts lines; with encoding base64, bytes."},
    };
    return table;
}

ReadFile::Args ReadFile::decode(const nlohmann::json& arguments)
{
    Args args;
    Decoder in(arguments);
    in.required("path", args.path, Length{1});
    in.optional("offset", args.offset, Range{-max_count, max_count});
    in.optional("limit", args.limit, Range{1, max_count});
    in.optional("line_numbers", args.line_numbers);
    in.choice("encoding", args.base64, {{"utf-8", false}, {"base64", true}}, aliases());
    in.optional("raw", args.raw);
    std::optional<std::string> pages;
    in.optional("pages", pages);
    in.finish();
    if (pages) {
        take_pages(*pages, args);
    }
    return args;
}

std::string ReadFile::describe(const Settings& settings, sandbox::Backend& /*backend*/)
{
    return "Reads a file of the sandbox. Text comes as numbered lines (number, tab, line), at "
           "most " +
           std::to_string(settings.read_limit) + " of them or " +
           std::to_string(settings.read_budget) +
           " characters; a first line in brackets says which lines these are when they are not "
           "all, and what is unusual about the file (CRLF line ends, a BOM, no final newline). "
           "offset is the number of lines to skip: offset 100 begins at line 101; offset -20 "
           "begins 20 lines before the end.\n\n"
           "Pictures (PNG, JPEG, GIF, WebP) are shown. Of a notebook (.ipynb) you get the cells "
           "with their outputs, of a PDF the text by page (pages: \"2-5\"), of an archive (zip, "
           "tar, tar.gz …) and of a directory the entries; offset and limit count these. raw: "
           "true shows a notebook as the JSON text that edit_file takes. PDFs and archives are "
           "read by programs in the sandbox; where they are missing the result says which. Of "
           "other binary files you get type, size and the first bytes in hex; with encoding "
           "base64 the bytes themselves, offset and limit then count bytes.\n\n"
           "Any path in the sandbox can be read, relative ones start at the working directory. To "
           "change what you read, pass text without the line numbers to edit_file.\n\n"
           "Example: {\"path\": \"src/main.c\", \"offset\": 100, \"limit\": 50}";
}

protocol::ReadFileRequest ReadFile::request(const Args& args, const Settings& settings)
{
    protocol::ReadFileRequest request;
    request.path = args.path;
    if (args.offset < 0) {
        request.from_end = static_cast<std::uint64_t>(-args.offset);
    } else {
        request.offset = static_cast<std::uint64_t>(args.offset);
    }
    request.image_limit = picture_bytes(settings);
    if (args.base64) {
        const auto most = base64_budget(settings);
        request.encoding = protocol::Encoding::bytes;
        request.limit = std::min<std::uint64_t>(
            static_cast<std::uint64_t>(args.limit.value_or(max_count)), most);
        request.budget = most;
    } else {
        request.limit = static_cast<std::uint64_t>(
            args.limit.value_or(static_cast<std::int64_t>(settings.read_limit)));
        request.budget = settings.read_budget * widest_character;
    }
    return request;
}

Result ReadFile::run(Context& context, const Args& args)
{
    std::string note;
    if (names_notebook(args) && !args.pages) {
        auto attempt = read_notebook(context, args);
        if (attempt.result) {
            return std::move(*attempt.result);
        }
        note = std::move(attempt.note);
    }
    auto reply = ask_counted(context, args);
    if (reply.kind == protocol::FileKind::binary && !args.raw && !args.base64) {
        if (reply.mime_type == pdf_type) {
            return pdf_text(context, args, reply);
        }
        if (is_archive(reply.mime_type)) {
            return archive_listing(context, args, reply);
        }
    }
    if (args.pages) {
        throw Error(ErrorCode::invalid_argument,
                    reply.mime_type == pdf_type
                        ? "pages are of a PDF's text, which neither raw nor base64 is"
                        : "pages are of PDF files, and " + visible(reply.path) + " is none",
                    "Leave out pages; offset and limit say which part is read.");
    }
    const auto advice = args.base64 ? std::string() : advice_for(context, args, reply);
    auto result = render(args, std::move(reply), context.settings, advice);
    if (!note.empty()) {
        result.text = "[" + note + "]\n" + result.text;
    }
    return result;
}

Result ReadFile::render(const Args& args, protocol::ReadFileReply reply, const Settings& settings,
                        const std::string& picture_advice)
{
    if (reply.kind == protocol::FileKind::directory) {
        return directory_report(reply, args.offset, settings.read_budget);
    }
    if (args.base64) {
        const bool by_limit =
            args.limit && static_cast<std::uint64_t>(*args.limit) <= base64_budget(settings);
        return base64_report(reply, args.offset, by_limit ? "limit" : "budget");
    }
    switch (reply.kind) {
    case protocol::FileKind::image:
        return image_report(std::move(reply), picture_advice);
    case protocol::FileKind::binary:
        return binary_report(reply, picture_bytes(settings), picture_advice);
    case protocol::FileKind::text:
    case protocol::FileKind::directory:
        break;
    }
    return text_report(reply, args.offset, args.line_numbers, settings.read_budget);
}

} // namespace berth::tools
