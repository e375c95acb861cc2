#include "tools/write_file.hpp"

#include "sandbox/base/base64.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/utf8.hpp"
#include "sandbox/base/visible.hpp"
#include "tools/decode.hpp"
#include "tools/protection_report.hpp"
#include "tools/render.hpp"
#include "tools/sandbox_call.hpp"

#include <nlohmann/json.hpp>

#include <array>

namespace berth::tools {

std::span<const Alias> WriteFile::aliases()
{
    static constexpr std::array table = {
        Alias{"file_path", "path"},
        Alias{.from = "encoding", .to = "utf-8", .value = "text"},
        Alias{.from = "encoding", .to = "utf-8", .value = "utf8"},
    };
    return table;
}

WriteFile::Args WriteFile::decode(const nlohmann::json& arguments)
{
    using protocol::WriteMode;
    Args args;
    Decoder in(arguments);
    in.required("path", args.path, Length{1});
    in.required("content", args.content);
    in.choice("mode", args.mode,
              {{"overwrite", WriteMode::overwrite},
               {"create", WriteMode::create},
               {"append", WriteMode::append}});
    in.choice("encoding", args.base64, {{"utf-8", false}, {"base64", true}}, aliases());
    in.sha256("if_sha256", args.if_sha256);
    in.finish();
    return args;
}

std::string WriteFile::describe(const Settings& /*settings*/, sandbox::Backend& /*backend*/)
{
    return "Writes a file of the sandbox, whole or not at all: a reader sees the old content or "
           "the new. Missing parent directories are made; a file that is replaced keeps its mode. "
           "Works under the home directory, /tmp and writable mounts.\n\n"
           "mode create refuses a file that is there, append adds at the end: send a long file in "
           "pieces that way, a call that is too long arrives cut off. encoding base64 takes any "
           "bytes. if_sha256 writes only if the file is still what you read. For a change to a "
           "file use edit_file.\n\n"
           "Example: {\"path\": \"notes/todo.md\", \"content\": \"# To do\\n\"}";
}

protocol::WriteFileRequest WriteFile::request(const Args& args)
{
    protocol::WriteFileRequest request;
    request.path = args.path;
    request.mode = args.mode;
    request.if_sha256 = args.if_sha256;
    if (!args.base64) {
        request.content = args.content;
        return request;
    }
    auto bytes = base64_decode(args.content);
    if (!bytes) {
        throw Error(ErrorCode::invalid_argument, "content: this is not base64, or it was cut off",
                    "Standard alphabet (+ and /), padded with = to a multiple of four characters. "
                    "Send a long file in pieces with mode append, each encoded on its own.");
    }
    request.content = std::move(*bytes);
    request.encoding = protocol::Encoding::bytes;
    return request;
}

Result WriteFile::run(Context& context, const Args& args)
{
    auto asked = request(args);
    asked.protection = protection_of(context.settings);
    const auto reply = with_sandbox(context, [&](sandbox::Sandbox& sandbox) {
        return sandbox.write_file(asked, context.stop);
    });
    auto result = render(args, reply);
    tell_protected(context, *result.data, reply.protected_changes);
    return result;
}

Result WriteFile::render(const Args& args, const protocol::WriteFileReply& reply)
{
    const bool appended = args.mode == protocol::WriteMode::append && !reply.created;
    const std::string text = std::string(reply.created ? "Created "
                                         : appended    ? "Appended to "
                                                       : "Replaced ") +
                             visible(reply.path) + ": " + counted(reply.bytes, "byte") +
                             (appended ? ", now " + counted(reply.size, "byte") : "") +
                             short_hash(" · ", reply.sha256);
    return {text, nlohmann::json{
                      {"message", text},
                      {"path", utf8::sanitize(reply.path)},
                      {"bytes", reply.bytes},
                      {"size_bytes", reply.size},
                      {"sha256", reply.sha256},
                      {"created", reply.created},
                  }};
}

} // namespace berth::tools
