#include "sandbox/base/error.hpp"
#include "sandbox/base/sha256.hpp"
#include "sandbox/guest/files/document.hpp"
#include "sandbox/guest/files/edit_diff.hpp"
#include "sandbox/guest/files/missing.hpp"
#include "sandbox/guest/files/nearest_lines.hpp"
#include "sandbox/guest/files/replacement.hpp"
#include "sandbox/guest/files/text_scan.hpp"
#include "sandbox/guest/files/text_search.hpp"
#include "sandbox/guest/files/write_target.hpp"
#include "sandbox/guest/operations.hpp"
#include "sandbox/guest/paths.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace berth::guest {
namespace {

using protocol::Edit;
using protocol::EditFileReply;
using protocol::EditFileRequest;

constexpr std::uint64_t default_max_size = 256ULL * 1024 * 1024;
constexpr std::size_t listed_matches = 20;
constexpr std::string_view mark = "\xef\xbb\xbf"; // byte order

/// What has to be known of the document before an edit.
struct Facts {
    bool all_crlf = false;
    bool bom = false;
    bool binary = false;
};

Facts look_at(const Document& document)
{
    Facts facts;
    LineCounter lines;
    DocumentReader reader(document);
    bool first = true;
    for (auto piece = reader.next(); !piece.empty(); piece = reader.next()) {
        if (first) {
            facts.bom = piece.starts_with(mark);
        }
        first = false;
        facts.binary |= piece.find('\0') != std::string_view::npos;
        lines.feed(piece);
    }
    facts.all_crlf = lines.all_crlf();
    return facts;
}

std::string with_crlf(std::string_view text)
{
    std::string result;
    result.reserve(text.size() + static_cast<std::size_t>(std::ranges::count(text, '\n')));
    char before = 0;
    for (const char c : text) {
        if (c == '\n' && before != '\r') {
            result += '\r';
        }
        result += before = c;
    }
    return result;
}

/// The place of an edit in its request, for messages.
std::string which(std::size_t index, std::size_t count)
{
    return count == 1
               ? ""
               : " (edit " + std::to_string(index + 1) + " of " + std::to_string(count) + ")";
}

/// Line ends and byte order mark stay what they are, however the caller writes them: in a file
/// whose lines all end with CRLF a newline means that, and a mark neither comes twice nor goes.
Edit adapted(const Edit& edit, const Facts& facts, const std::string& place)
{
    Edit result = edit;
    // Who replaces nothing but line ends means these.
    const bool converts = edit.old_text.find("\r\n") != std::string::npos &&
                          with_crlf(edit.old_text) == with_crlf(edit.new_text);
    if (facts.all_crlf && !converts) {
        result.old_text = with_crlf(edit.old_text);
        result.new_text = with_crlf(edit.new_text);
    }
    if (facts.bom) {
        const bool has = result.new_text.starts_with(mark);
        if (result.old_text.starts_with(mark) && !has) {
            result.new_text.insert(0, mark);
            if (result.new_text == result.old_text) {
                throw Error(ErrorCode::unsupported,
                            "the edit" + place +
                                " would only take away the byte order mark, which edit_file keeps",
                            "to remove it: sed -i '1s/^\\xef\\xbb\\xbf//' in bash_exec");
            }
        } else if (!result.old_text.starts_with(mark) && has) {
            result.new_text.erase(0, mark.size());
        }
    }
    return result;
}

[[noreturn]] void throw_not_found(const Document& document, const Edit& edit,
                                  const std::string& place)
{
    std::string hint;
    std::string lines;
    for (const auto& near : nearest_lines(document, edit.old_text)) {
        hint += (hint.empty() ? "nearest: " : "; ") + ("line " + std::to_string(near.line)) + " (" +
                std::to_string(near.percent) + " % alike), where line " +
                std::to_string(near.first_difference) + " differs in " + near.difference + ": `" +
                printable(near.actual) + "`";
        lines += (lines.empty() ? "" : ",") + std::to_string(near.line);
    }
    if (hint.empty()) {
        hint = "nothing in the file is like it; read the file and copy the text from there";
    }
    throw Error(Error(ErrorCode::text_not_found,
                      "old_text" + place + " does not occur in " + printable(document.path()), hint)
                    .with_detail("lines", lines));
}

[[noreturn]] void throw_ambiguous(const Document& document,
                                  const std::vector<std::uint64_t>& matches, std::size_t size,
                                  const std::string& place)
{
    // Not all of those are counted that overlap each other.
    const bool overlap = matches[1] - matches[0] < size;
    const auto all = lines_of(document, matches, listed_matches);
    std::string lines; // one for each match
    std::string shown; // each once
    std::size_t distinct = 0;
    for (auto line = all.begin(); line != all.end(); ++distinct) {
        const auto next = std::find_if(line, all.end(), [&](auto other) { return other != *line; });
        const std::string number = std::to_string(*line);
        shown += (shown.empty() ? "" : ", ") + number;
        shown += next - line > 1 ? " (" + std::to_string(next - line) + " times)" : "";
        for (; line != next; ++line) {
            lines += (lines.empty() ? "" : ", ") + number;
        }
    }
    const std::string more = matches.size() > listed_matches ? " ..." : "";
    const char* on = distinct == 1 ? ", on line " : ", on lines ";
    throw Error(Error(ErrorCode::ambiguous_match,
                      "old_text" + place + " occurs " + (overlap ? "at least " : "") +
                          std::to_string(matches.size()) + " times" +
                          (overlap ? ", overlapping itself," : "") + " in " +
                          printable(document.path()) + on + shown + more,
                      "add lines around it until it is unique, or set replace_all")
                    .with_detail("lines", lines)
                    .with_detail("count", std::to_string(matches.size())));
}

/// Returns the number of replacements.
std::uint64_t apply(const Edit& edit, Document& document, const Facts& facts,
                    const std::string& place)
{
    if (edit.old_text.empty()) {
        const std::uint64_t begin = facts.bom ? mark.size() : 0;
        if (document.size() != begin) {
            throw Error(ErrorCode::invalid_argument,
                        "old_text" + place + " is empty, and " + printable(document.path()) +
                            " is not",
                        "give the text to be replaced, or use write_file to replace the whole");
        }
        document.replace({begin}, 0, edit.new_text);
        return 1;
    }
    const auto matches =
        find_text(document, edit.old_text, edit.replace_all ? Overlap::skipped : Overlap::reported);
    if (matches.empty()) {
        throw_not_found(document, edit, place);
    }
    if (matches.size() > 1 && !edit.replace_all) {
        throw_ambiguous(document, matches, edit.old_text.size(), place);
    }
    document.replace(matches, edit.old_text.size(), edit.new_text);
    return matches.size();
}

/// Whether the document's line ends or mark make a difference to an edit: to look at them means to
/// read the whole.
bool depends_on_facts(const Edit& edit)
{
    return edit.old_text.empty() || edit.old_text.find('\n') != std::string::npos ||
           edit.new_text.find('\n') != std::string::npos || edit.old_text.starts_with(mark) ||
           edit.new_text.starts_with(mark);
}

std::uint64_t apply_all(const EditFileRequest& request, Document& document, Facts facts,
                        std::uint64_t max_size)
{
    std::uint64_t replacements = 0;
    for (std::size_t i = 0; i < request.edits.size(); ++i) {
        const std::string place = which(i, request.edits.size());
        const Edit& edit = request.edits[i];
        if (i > 0 && depends_on_facts(edit)) {
            facts = look_at(document); // the edits before may have changed them
        }
        replacements += apply(adapted(edit, facts, place), document, facts, place);
        if (document.size() > max_size) {
            throw Error(ErrorCode::too_large,
                        printable(document.path()) + " would have " +
                            std::to_string(document.size()) + " bytes" + place,
                        "at most " + std::to_string(max_size) + " bytes can be edited");
        }
    }
    return replacements;
}

void require_sensible(const EditFileRequest& request)
{
    if (request.edits.empty()) {
        throw Error(ErrorCode::invalid_argument, "there is no edit", "give old_text and new_text");
    }
    for (std::size_t i = 0; i < request.edits.size(); ++i) {
        const Edit& edit = request.edits[i];
        if (edit.old_text == edit.new_text && !edit.old_text.empty()) {
            throw Error(ErrorCode::invalid_argument,
                        "old_text and new_text are the same" + which(i, request.edits.size()),
                        "nothing would change");
        }
    }
}

void require_editable(const WriteTarget& target, const EditFileRequest& request,
                      std::uint64_t max_size, const CallContext& context)
{
    if (!target.exists() && !request.edits.front().old_text.empty()) {
        throw_open_error(ENOENT, target.path(), context);
    }
    const auto size = static_cast<std::uint64_t>(target.status.st_size);
    if (size > max_size) {
        throw Error(ErrorCode::too_large,
                    printable(target.path()) + " has " + std::to_string(size) + " bytes",
                    "at most " + std::to_string(max_size) +
                        " bytes can be edited; use sed in bash_exec");
    }
    require_replaceable(target);
}

/// Puts the document in the file's place, or only looks what its hash would be.
std::string write_document(const Document& document, WriteTarget& target, bool dry_run,
                           const CallContext& context)
{
    DocumentReader reader(document);
    if (dry_run) {
        Sha256 hash;
        for (auto piece = reader.next(); !piece.empty(); piece = reader.next()) {
            hash.update(piece);
        }
        return hash.finish();
    }
    return with_parents(target, context, [&] {
        Replacement replacement(target, {.mode = {}, .exclusive = true, .only_unchanged = true});
        for (auto piece = reader.next(); !piece.empty(); piece = reader.next()) {
            replacement.write(piece);
        }
        return replacement.commit(context);
    });
}

} // namespace

EditFileReply edit_file(const EditFileRequest& request, const CallContext& context)
{
    require_sensible(request);
    LockedTarget locked = lock_write_target(request.path, context);
    WriteTarget& target = locked.target;
    const std::uint64_t max_size = request.max_size == 0 ? default_max_size : request.max_size;
    require_hash(target, request.if_sha256, context);
    require_editable(target, request, max_size, context);

    const UniqueFd original = target.exists() ? open_for_reading(target) : UniqueFd();
    if (original) {
        require_narrow(original.get(), target);
    }
    Document document(original.get(), static_cast<std::uint64_t>(target.status.st_size),
                      target.path(), context);
    const Facts facts = look_at(document);
    EditFileReply reply;
    reply.path = target.path();
    reply.created = !target.exists();
    reply.dry_run = request.dry_run;
    reply.replacements = apply_all(request, document, facts, max_size);
    reply.size = document.size();
    // Before the file is written: the document reads the old one.
    const bool binary =
        facts.binary ||
        std::any_of(request.edits.begin(), request.edits.end(),
                    [](const Edit& edit) { return edit.new_text.find('\0') != std::string::npos; });
    auto diff = unified_diff(document, request.diff_budget, reply.created, binary);
    if (diff.text.empty() && !diff.truncated && !reply.created) {
        throw Error(ErrorCode::invalid_argument,
                    "the result is what " + printable(target.path()) + " has already",
                    "nothing would change");
    }
    reply.diff = std::move(diff.text);
    reply.diff_truncated = diff.truncated;
    reply.sha256 = write_document(document, target, request.dry_run, context);
    return reply;
}

} // namespace berth::guest
