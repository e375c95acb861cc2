#pragma once

#include "server/mcp/request_context.hpp"
#include "tools/tool.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

// What a server offers beside berth's tools, as far as the protocol needs to know it. Whatever is
// called here may block, is called by many threads at once, and throws berth::Error or
// rpc::ProtocolError.

namespace berth::mcp {

struct Resource {
    std::string uri;
    std::string name;
    std::string title{}; ///< empty, as all that follows: it is left out
    std::string description{};
    std::string mime_type{};
    std::optional<std::uint64_t> size{};
    std::string modified{}; ///< RFC 3339
    std::string drawing{};  ///< of icons_of()
};

struct ResourceTemplate {
    std::string uri; ///< RFC 6570
    std::string name;
    std::string title{};
    std::string description{};
    std::string mime_type{};
    std::string drawing{}; ///< of icons_of()
};

struct ResourcePage {
    std::vector<Resource> resources;
    std::string next{}; ///< what list() continues from; empty: this was the last
};

struct ResourceContent {
    std::string mime_type; ///< empty: not known
    std::string bytes;     ///< sent as text where `is_text`, which must be valid UTF-8 then
    bool is_text = false;
};

/// What the value of an argument may be, by how it begins.
struct Completion {
    /// So many the protocol has at most in one answer.
    static constexpr std::size_t most = 100;

    std::vector<std::string> values{}; ///< of more than `most` the first are sent
    bool has_more = false;             ///< than these
};

class Resources {
  public:
    Resources() = default;
    Resources(const Resources&) = delete;
    Resources& operator=(const Resources&) = delete;
    virtual ~Resources() = default;

    /// `from`: the `next` of another page; empty: the first. Throws Error(invalid_argument) for any
    /// other.
    [[nodiscard]] virtual ResourcePage list(const std::string& from,
                                            const std::stop_token& stop) = 0;
    [[nodiscard]] virtual std::vector<ResourceTemplate> templates() = 0;
    using Hold = tools::Hold;

    /// `hold` is told of the bytes before they are read. Throws Error(not_found).
    [[nodiscard]] virtual ResourceContent read(const std::string& uri, const std::stop_token& stop,
                                               const Hold& hold) = 0;
    /// Of an argument of the template. Nothing: there is no such template or argument.
    [[nodiscard]] virtual std::optional<Completion> complete(const std::string& uri_template,
                                                             const std::string& argument,
                                                             const std::string& value) = 0;
};

/// The members of a result. `needs_input`: it is none yet, but says what the client must find out
/// (`inputRequests`, `requestState`), who then asks again with the answers; of 2026-07-28.
struct Outcome {
    Outcome(const nlohmann::json& members, bool needs_input = false);
    Outcome(Outcome&&) noexcept;
    Outcome& operator=(Outcome&&) noexcept;
    ~Outcome();

    std::unique_ptr<nlohmann::json> members;
    bool needs_input;
};

struct PromptArgument {
    std::string name;
    std::string description;
    bool required = false;
};

struct Prompt {
    std::string name;
    std::string title;
    std::string description;
    std::vector<PromptArgument> arguments{};
    /// `arguments`: strings, all that are required among them. The result's `messages`, and
    /// `description` if it has one.
    std::function<Outcome(const RequestContext& context, const nlohmann::json& arguments)> get;
    /// Empty: nothing is known of the values.
    std::function<Completion(const std::string& argument, const std::string& value)> complete{};
    std::string drawing{}; ///< of icons_of(); empty: there is none
};

/// A tool that speaks MCP itself, where those of tools/ know of no protocol.
struct ProtocolTool {
    std::string name;
    std::string definition; ///< what tools/list has of it: a JSON object
    /// Its result's `content`. An Error becomes a failed result, a ProtocolError is answered as
    /// one.
    std::function<Outcome(const RequestContext& context, const nlohmann::json& arguments)> call;
    std::vector<std::string> needs{}; ///< capabilities of the client, without which it is refused
};

} // namespace berth::mcp
