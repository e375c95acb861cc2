#include "tools/edit_file.hpp"

#include "sandbox/base/error.hpp"
#include "tools/decode.hpp"
#include "tools/edit_report.hpp"
#include "tools/protection_report.hpp"
#include "tools/render.hpp"
#include "tools/sandbox_call.hpp"

#include <nlohmann/json.hpp>

#include <array>

namespace berth::tools {
namespace {

constexpr std::size_t most_edits = 1000;

void check_edit(const protocol::Edit& edit, const std::string& place)
{
    if (edit.old_text == edit.new_text) {
        throw Error(ErrorCode::invalid_argument,
                    place + (place.empty() ? "" : ": ") +
                        "old_text and new_text are the same, there is nothing to change",
                    "Give in new_text the text that should be there.");
    }
}

} // namespace

std::span<const Alias> EditFile::aliases()
{
    static constexpr std::array table = {
        Alias{"file_path", "path"},
        Alias{"old_string", "old_text"},
        Alias{"new_string", "new_text"},
    };
    return table;
}

nlohmann::json EditFile::canonical(const nlohmann::json& arguments)
{
    static constexpr std::array in_edits = {
        Alias{"old_string", "old_text"},
        Alias{"new_string", "new_text"},
        Alias{"oldText", "old_text"},
        Alias{"newText", "new_text"},
    };
    auto result = canonical_arguments(arguments, aliases());
    const auto edits = result.is_object() ? result.find("edits") : result.end();
    if (edits != result.end() && edits->is_array()) {
        for (auto& edit : *edits) {
            edit = canonical_arguments(edit, in_edits);
        }
    }
    return result;
}

EditFile::Args EditFile::decode(const nlohmann::json& arguments)
{
    Args args;
    Decoder in(arguments);
    in.optional("path", args.path, Length{1});
    in.optional("old_text", args.old_text);
    in.optional("new_text", args.new_text);
    in.optional("replace_all", args.replace_all);
    in.list("edits", args.edits, most_edits, [](Decoder& element, protocol::Edit& edit) {
        element.required("old_text", edit.old_text);
        element.required("new_text", edit.new_text);
        element.optional("replace_all", edit.replace_all);
    });
    in.optional("patch", args.patch);
    in.sha256("if_sha256", args.if_sha256);
    in.optional("tolerant", args.tolerant);
    in.optional("dry_run", args.dry_run);
    in.finish();
    return args;
}

std::string EditFile::describe(const Settings& settings, sandbox::Backend& /*backend*/)
{
    return "Replaces exact text in a file of the sandbox and shows the diff. old_text must occur "
           "exactly once, with its indentation and without the line numbers of read_file: take in "
           "enough lines around it, or set replace_all. edits takes several replacements at once, "
           "in order, all or none. An empty old_text creates a file, or fills one that is "
           "empty.\n\n"
           "Line ends (LF or CRLF), byte order mark, final newline and mode stay as they are. If "
           "the text is not found, the error shows the nearest lines; if it is found more than "
           "once, the line of each. With tolerant a text that is not found matches where only "
           "tabs, "
           "blanks at the end of lines, CRLF or typographic quotes differ, which the result says. "
           "if_sha256 edits only if the file is still what you read; "
           "dry_run shows the diff and changes nothing. Files up to " +
           limit_bytes(settings.edit_max_file) +
           ".\n\npatch changes several files at once, all or none, and is given alone: *** Begin "
           "Patch, "
           "then *** Update File: PATH (*** Move to: PATH to rename it) with lines that begin with "
           "a "
           "blank, - or +, and @@ LINE above them where they are not unique; *** Add File: PATH "
           "with "
           "lines that begin with +; *** Delete File: PATH; at the end *** End Patch.\n\nExample: "
           "{\"path\": \"src/main.c\", \"old_text\": \"return 1;\", \"new_text\": "
           "\"return 0;\"}";
}

protocol::EditFileRequest EditFile::request(const Args& args, const Settings& settings)
{
    if (args.path.empty() && !args.old_text && !args.new_text && args.edits.empty()) {
        throw Error(ErrorCode::invalid_argument, "neither path nor patch arrived",
                    "Give path with old_text and new_text, or patch alone. A call that is too long "
                    "arrives cut off: make several smaller ones.");
    }
    if (args.path.empty()) {
        throw Error(ErrorCode::invalid_argument, "missing: path",
                    "Give path with old_text and new_text, or patch alone.");
    }
    const bool single = args.old_text || args.new_text;
    if (args.replace_all && !single && !args.edits.empty()) {
        throw Error(ErrorCode::invalid_argument, "replace_all does not apply to edits",
                    "Give replace_all in each of the edits that should replace every occurrence.");
    }
    if (single == !args.edits.empty()) {
        throw Error(ErrorCode::invalid_argument,
                    single ? "both old_text/new_text and edits were given"
                           : "neither old_text and new_text nor edits were given",
                    "Give old_text and new_text for one replacement, or edits for several.");
    }
    if (single && (!args.old_text || !args.new_text)) {
        throw Error(ErrorCode::invalid_argument,
                    args.old_text ? "missing: new_text" : "missing: old_text",
                    "If it was left out because the call was too long, make several smaller "
                    "edits.");
    }
    protocol::EditFileRequest request;
    request.path = args.path;
    request.if_sha256 = args.if_sha256;
    request.dry_run = args.dry_run;
    request.tolerant = args.tolerant;
    request.max_size = settings.edit_max_file;
    request.diff_budget = settings.output_budget;
    request.edits =
        single ? std::vector{protocol::Edit{*args.old_text, *args.new_text, args.replace_all}}
               : args.edits;
    for (std::size_t i = 0; i < request.edits.size(); ++i) {
        check_edit(request.edits[i], single ? "" : "edits[" + std::to_string(i) + ']');
    }
    return request;
}

protocol::PatchFilesRequest EditFile::patch_request(const Args& args, const Settings& settings)
{
    if (!args.path.empty() || args.old_text || args.new_text || args.replace_all ||
        !args.edits.empty() || !args.if_sha256.empty() || args.tolerant) {
        throw Error(ErrorCode::invalid_argument,
                    "patch was given with other arguments than dry_run",
                    "patch names its files itself, and looks through blanks and quotes by itself: "
                    "give it alone.");
    }
    protocol::PatchFilesRequest request;
    request.patch = *args.patch;
    request.dry_run = args.dry_run;
    request.max_size = settings.edit_max_file;
    request.diff_budget = settings.output_budget;
    return request;
}

void EditFile::check(const Args& args)
{
    if (args.patch) {
        (void)patch_request(args, Settings{});
    } else {
        (void)request(args, Settings{});
    }
}

Result EditFile::run(Context& context, const Args& args)
{
    if (args.patch) {
        auto asked = patch_request(args, context.settings);
        asked.protection = protection_of(context.settings);
        const auto reply = with_sandbox(context, [&](sandbox::Sandbox& sandbox) {
            return sandbox.patch_files(asked, context.stop);
        });
        auto result = patch_report(reply, context.settings);
        tell_protected(context, *result.data, reply.protected_changes);
        return result;
    }
    auto asked = request(args, context.settings);
    asked.protection = protection_of(context.settings);
    const auto reply = with_sandbox(
        context, [&](sandbox::Sandbox& sandbox) { return sandbox.edit_file(asked, context.stop); });
    auto result = edit_report(reply, context.settings);
    tell_protected(context, *result.data, reply.protected_changes);
    return result;
}

} // namespace berth::tools
