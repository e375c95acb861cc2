#include "sandbox/base/enumeration.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/guest/files/document.hpp"
#include "sandbox/guest/files/document_facts.hpp"
#include "sandbox/guest/files/edit_diff.hpp"
#include "sandbox/guest/files/edit_errors.hpp"
#include "sandbox/guest/files/missing.hpp"
#include "sandbox/guest/files/replacement.hpp"
#include "sandbox/guest/files/text_search.hpp"
#include "sandbox/guest/files/tolerant_match.hpp"
#include "sandbox/guest/files/write_target.hpp"
#include "sandbox/guest/operations.hpp"
#include "sandbox/guest/paths.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

namespace berth::guest {
namespace {

using protocol::Edit;
using protocol::EditFileReply;
using protocol::EditFileRequest;

/// Places that an edit replaces though they differ from its text.
constexpr std::size_t most_tolerant = 1000;

/// The place of an edit in its request, for messages.
std::string which(std::size_t index, std::size_t count)
{
    return count == 1
               ? ""
               : " (edit " + std::to_string(index + 1) + " of " + std::to_string(count) + ")";
}

/// Line ends and byte order mark stay what they are, however the caller writes them: in a file
/// whose lines all end with CRLF a newline means that, and a mark neither comes twice nor goes.
Edit adapted(const Edit& edit, const DocumentFacts& facts, const std::string& place)
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
        const bool has = result.new_text.starts_with(byte_order_mark);
        if (result.old_text.starts_with(byte_order_mark) && !has) {
            result.new_text.insert(0, byte_order_mark);
            if (result.new_text == result.old_text) {
                throw Error(ErrorCode::unsupported,
                            "the edit" + place +
                                " would only take away the byte order mark, which edit_file keeps",
                            "to remove it: sed -i '1s/^\\xef\\xbb\\xbf//' in bash_exec");
            }
        } else if (!result.old_text.starts_with(byte_order_mark) && has) {
            result.new_text.erase(0, byte_order_mark.size());
        }
    }
    return result;
}

bool has_newline(std::string_view text)
{
    return text.find('\n') != std::string_view::npos;
}

/// Whether an edit may look through what is not the text's sense, and what it looked through.
struct Allowance {
    bool allowed = false;
    unsigned through = 0; ///< a set of Tolerance
};

std::vector<std::uint64_t> positions_of(const std::vector<TolerantMatch>& matches)
{
    std::vector<std::uint64_t> positions;
    std::ranges::transform(matches, std::back_inserter(positions), &TolerantMatch::begin);
    return positions;
}

/// `size`: of the first match, in the document.
[[noreturn]] void refuse_several(const Document& document,
                                 const std::vector<std::uint64_t>& matches, std::size_t size,
                                 const std::string& place)
{
    throw_ambiguous(document, matches, size, "old_text" + place,
                    "add lines around it until it is unique, or set replace_all");
}

/// For who did not ask for it; nothing where it cannot be told.
std::string what_tolerance_finds(const Document& document, std::string_view text)
try {
    const auto found = find_tolerant(document, {.text = text});
    return found.empty()
               ? std::string()
               : "line " + std::to_string(lines_of(document, {found.front().begin}, 1).front()) +
                     " is the same but for " + enumerated(names_of(found.front().through)) +
                     ": tolerant = true looks through that; ";
} catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) {
        throw;
    }
    return {};
}

/// Of an edit whose text does not occur as it is. Returns the number of replacements.
std::uint64_t apply_tolerantly(const Edit& edit, Document& document, const std::string& place,
                               Allowance& tolerance)
{
    auto matches = find_tolerant(document, {.text = edit.old_text, .most = most_tolerant + 1});
    if (matches.empty()) {
        throw_not_found(document, edit.old_text, "old_text" + place);
    }
    if (matches.size() > 1 && !edit.replace_all) {
        refuse_several(document, positions_of(matches), matches.front().actual.size(), place);
    }
    if (matches.size() > most_tolerant) {
        throw Error(ErrorCode::too_large,
                    "old_text" + place + " occurs more than " + std::to_string(most_tolerant) +
                        " times in " + visible(document.path()) + ", each a little different",
                    "use sed in bash_exec for that many");
    }
    std::vector<std::uint64_t> behinds;
    std::ranges::transform(matches, std::back_inserter(behinds), [](const TolerantMatch& match) {
        return match.begin + match.actual.size();
    });
    const bool within = !edit.old_text.ends_with('\n') && has_newline(edit.new_text);
    auto ends = within ? line_ends_behind(document, behinds)
                       : std::vector<std::string_view>(matches.size());
    // The last first, so that the places of the others stay what they are.
    std::uint64_t replaced = 0;
    std::uint64_t behind = document.size();
    for (auto match = matches.rbegin(); match != matches.rend(); ++match, ends.pop_back()) {
        if (match->begin + match->actual.size() <= behind) {
            document.replace(
                {match->begin}, match->actual.size(),
                tolerant_replacement(edit.old_text, edit.new_text, *match, ends.back()));
            behind = match->begin;
            tolerance.through |= match->through;
            ++replaced;
        }
    }
    return replaced;
}

/// Of a text within a line, where lines end with CRLF here and with LF there: the lines that take
/// its place end as that one does.
void replace_ended_alike(const Edit& edit, Document& document,
                         const std::vector<std::uint64_t>& matches)
{
    std::vector<std::uint64_t> behinds;
    std::ranges::transform(matches, std::back_inserter(behinds),
                           [&](std::uint64_t begin) { return begin + edit.old_text.size(); });
    const auto ends = line_ends_behind(document, behinds);
    std::vector<std::uint64_t> crlf; // where they are once the others are replaced
    std::vector<std::uint64_t> others;
    for (std::size_t i = 0; i < matches.size(); ++i) {
        if (ends[i] == "\r\n") {
            crlf.push_back(matches[i] + others.size() * edit.new_text.size() -
                           others.size() * edit.old_text.size());
        } else {
            others.push_back(matches[i]);
        }
    }
    document.replace(others, edit.old_text.size(), edit.new_text);
    document.replace(crlf, edit.old_text.size(), with_crlf(edit.new_text));
}

/// Returns the number of replacements.
std::uint64_t apply(const Edit& edit, Document& document, const DocumentFacts& facts,
                    const std::string& place, Allowance& tolerance)
{
    if (edit.old_text.empty()) {
        const std::uint64_t begin = facts.bom ? byte_order_mark.size() : 0;
        if (document.size() != begin) {
            throw Error(ErrorCode::invalid_argument,
                        "old_text" + place + " is empty, and " + visible(document.path()) +
                            " is not",
                        "give the text to be replaced, or use write_file to replace the whole");
        }
        document.replace({begin}, 0, edit.new_text);
        return 1;
    }
    const auto matches =
        find_text(document, edit.old_text, edit.replace_all ? Overlap::skipped : Overlap::reported);
    if (matches.empty() && tolerance.allowed) {
        return apply_tolerantly(edit, document, place, tolerance);
    }
    if (matches.empty()) {
        throw_not_found(document, edit.old_text, "old_text" + place,
                        what_tolerance_finds(document, edit.old_text));
    }
    if (matches.size() > 1 && !edit.replace_all) {
        refuse_several(document, matches, edit.old_text.size(), place);
    }
    if (tolerance.allowed && facts.mixed && !has_newline(edit.old_text) &&
        has_newline(edit.new_text)) {
        replace_ended_alike(edit, document, matches);
    } else {
        document.replace(matches, edit.old_text.size(), edit.new_text);
    }
    return matches.size();
}

/// Whether the document's line ends or mark make a difference to an edit: to look at them means to
/// read the whole.
bool depends_on_facts(const Edit& edit)
{
    return edit.old_text.empty() || has_newline(edit.old_text) || has_newline(edit.new_text) ||
           edit.old_text.starts_with(byte_order_mark) || edit.new_text.starts_with(byte_order_mark);
}

void apply_all(const EditFileRequest& request, Document& document, DocumentFacts facts,
               std::uint64_t max_size, EditFileReply& reply)
{
    Allowance tolerance{.allowed = request.tolerant, .through = 0};
    for (std::size_t i = 0; i < request.edits.size(); ++i) {
        const std::string place = which(i, request.edits.size());
        const Edit& edit = request.edits[i];
        if (i > 0 && depends_on_facts(edit)) {
            facts = facts_of(document); // the edits before may have changed them
        }
        reply.replacements += apply(adapted(edit, facts, place), document, facts, place, tolerance);
        if (document.size() > max_size) {
            throw Error(ErrorCode::too_large,
                        visible(document.path()) + " would have " +
                            std::to_string(document.size()) + " bytes" + place,
                        "at most " + std::to_string(max_size) + " bytes can be edited");
        }
    }
    reply.tolerated = names_of(tolerance.through);
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
    require_editable_size(static_cast<std::uint64_t>(target.status.st_size), max_size,
                          target.path());
    require_replaceable(target);
}

/// Puts the document in the file's place, or only looks what its hash would be.
std::string write_document(const Document& document, WriteTarget& target, bool dry_run,
                           const CallContext& context)
{
    if (dry_run) {
        return hash_of(document);
    }
    DocumentReader reader(document);
    return with_parents(target, context, [&] {
        Replacement replacement(target, {.mode = {}, .exclusive = true, .only_unchanged = true},
                                context);
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
    const DocumentFacts facts = facts_of(document);
    EditFileReply reply;
    reply.path = target.path();
    reply.created = !target.exists();
    reply.dry_run = request.dry_run;
    apply_all(request, document, facts, max_size, reply);
    reply.size = document.size();
    // Before the file is written: the document reads the old one.
    const bool binary =
        facts.binary ||
        std::any_of(request.edits.begin(), request.edits.end(),
                    [](const Edit& edit) { return edit.new_text.find('\0') != std::string::npos; });
    auto diff = unified_diff(document, request.diff_budget, reply.created, binary);
    if (diff.text.empty() && !diff.truncated && !reply.created) {
        throw Error(ErrorCode::invalid_argument,
                    "the result is what " + visible(target.path()) + " has already",
                    "nothing would change");
    }
    reply.diff = std::move(diff.text);
    reply.diff_truncated = diff.truncated;
    reply.sha256 = write_document(document, target, request.dry_run, context);
    return reply;
}

} // namespace berth::guest
