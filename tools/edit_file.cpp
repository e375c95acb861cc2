#include "tools/edit_file.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/utf8.hpp"
#include "tools/decode.hpp"
#include "tools/output_budget.hpp"
#include "tools/render.hpp"
#include "tools/sandbox_call.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
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
                    "Give the text that shall be there in new_text.");
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
    in.required("path", args.path, Length{1});
    in.optional("old_text", args.old_text);
    in.optional("new_text", args.new_text);
    in.optional("replace_all", args.replace_all);
    in.list("edits", args.edits, most_edits, [](Decoder& element, protocol::Edit& edit) {
        element.required("old_text", edit.old_text);
        element.required("new_text", edit.new_text);
        element.optional("replace_all", edit.replace_all);
    });
    in.sha256("if_sha256", args.if_sha256);
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
           "once, the line of each. if_sha256 edits only if the file is still what you read; "
           "dry_run shows the diff and changes nothing. Files up to " +
           human_bytes(settings.edit_max_file) +
           ".\n\nExample: {\"path\": \"src/main.c\", \"old_text\": \"return 1;\", \"new_text\": "
           "\"return 0;\"}";
}

protocol::EditFileRequest EditFile::request(const Args& args, const Settings& settings)
{
    const bool single = args.old_text || args.new_text;
    if (args.replace_all && !single && !args.edits.empty()) {
        throw Error(ErrorCode::invalid_argument, "replace_all does not apply to edits",
                    "Give replace_all in each of edits that shall replace every occurrence.");
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

Result EditFile::run(Context& context, const Args& args)
{
    const auto asked = request(args, context.settings);
    const auto reply = with_sandbox(
        context, [&](sandbox::Sandbox& sandbox) { return sandbox.edit_file(asked, context.stop); });
    return render(reply, context.settings);
}

Result EditFile::render(const protocol::EditFileReply& reply, const Settings& settings)
{
    std::string head = reply.dry_run   ? reply.created ? "Would create " : "Would edit "
                       : reply.created ? "Created "
                                       : "Edited ";
    head += visible(reply.path);
    head += reply.created ? ": " + counted(reply.size, "byte")
                          : ": " + counted(reply.replacements, "replacement");
    head += reply.dry_run ? " (dry run: nothing was changed)" : short_hash(" · ", reply.sha256);

    const auto shown = prefix_characters(reply.diff, settings.output_budget);
    const std::string diff = utf8::sanitize(shown);
    const bool truncated = reply.diff_truncated || shown.size() < reply.diff.size();
    std::string text = head + (diff.empty() ? "" : "\n" + diff);
    if (truncated) {
        text += text.ends_with('\n') ? "" : "\n";
        // Of a single line of 100 MB nothing is shown.
        text += diff.find("\n@@ ") == std::string::npos
                    ? "[the diff is left out: what changes is too long to be shown; read_file "
                      "shows the file]"
                    : "[the rest of the diff is left out; read_file shows the file]";
    }
    return {text, nlohmann::json{
                      {"message", head},
                      {"path", utf8::sanitize(reply.path)},
                      {"replacements", reply.replacements},
                      {"size_bytes", reply.size},
                      {"sha256", reply.sha256},
                      {"diff", diff},
                      {"diff_truncated", truncated},
                      {"created", reply.created},
                      {"dry_run", reply.dry_run},
                  }};
}

} // namespace berth::tools
