#include "server/rpc/outline.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <utility>

namespace berth::rpc {
namespace {

using nlohmann::json;

/// Takes the members of the outermost object from the parser's events: those before the text
/// breaks have come by then.
class Recogniser {
  public:
    bool null() { return take({}); }

    bool boolean(bool /*value*/) { return take({}); }

    bool number_integer(std::int64_t value) { return take(std::to_string(value)); }

    bool number_unsigned(std::uint64_t value) { return take(std::to_string(value)); }

    bool number_float(double /*value*/, const std::string& /*text*/) { return take({}); }

    bool string(std::string& value)
    {
        if (depth_ == 1 && key_ == "method") {
            method_ = value;
        }
        take(id_from(value));
        settle();
        return true;
    }

    bool binary(json::binary_t& /*value*/) { return false; }

    bool start_object(std::size_t /*size*/) { return open(); }

    bool end_object() { return close(); }

    bool start_array(std::size_t /*size*/) { return open(); }

    bool end_array() { return close(); }

    bool key(std::string& name)
    {
        if (depth_ == 1) {
            settle();
            key_ = std::move(name);
            ids_ += key_ == "id" ? 1 : 0;
            answers_ = answers_ || key_ == "result" || key_ == "error";
        }
        return true;
    }

    bool parse_error(std::size_t /*position*/, const std::string& token,
                     const json::exception& /*error*/)
    {
        if (token.starts_with('"')) { // a key that was cut off: what is before it is whole
            settle();
        }
        return false;
    }

    [[nodiscard]] Message message()
    {
        Message message;
        message.id = ids_ == 1 ? id_ : Id();
        message.kind = method_.empty() && answers_ ? Kind::response
                       : message.id.empty()        ? Kind::notification
                                                   : Kind::request;
        message.method = std::move(method_);
        return message;
    }

  private:
    bool take(Id value)
    {
        if (depth_ == 1 && key_ == "id") {
            value_ = std::move(value);
        }
        return true;
    }

    /// A number at the end of a text that was cut off may have had more digits, so what was taken
    /// holds only when something follows.
    void settle()
    {
        if (depth_ == 1 && key_ == "id") {
            id_ = value_;
        }
    }

    bool open()
    {
        ++depth_;
        return true;
    }

    bool close()
    {
        settle();
        --depth_;
        return true;
    }

    std::size_t depth_ = 0;
    std::string key_; ///< of the outermost object, the one read last
    Id value_;
    Id id_;
    int ids_ = 0;
    std::string method_;
    bool answers_ = false; ///< it has what only a response has
};

/// Takes the short strings of `params` from the parser's events, until the text breaks.
class ParamsRecogniser {
  public:
    explicit ParamsRecogniser(json& params) : params_(params) {}

    bool null() { return true; }

    bool boolean(bool /*value*/) { return true; }

    bool number_integer(std::int64_t /*value*/) { return true; }

    bool number_unsigned(std::uint64_t /*value*/) { return true; }

    bool number_float(double /*value*/, const std::string& /*text*/) { return true; }

    bool string(std::string& value)
    {
        // Nothing large is kept: of a name so much, and of as many as no request has.
        constexpr std::size_t longest = 256;
        constexpr std::size_t most = 64;
        if (depth_ == 2 && in_params_ && !key_.empty() && value.size() <= longest &&
            params_.size() < most) {
            params_[key_] = std::move(value);
        }
        return true;
    }

    bool binary(json::binary_t& /*value*/) { return false; }

    bool start_object(std::size_t /*size*/) { return open(key_ == "params"); }

    bool end_object() { return close(); }

    bool start_array(std::size_t /*size*/) { return open(false); }

    bool end_array() { return close(); }

    bool key(std::string& name)
    {
        if (depth_ <= 2) {
            key_ = name.size() <= longest_key ? std::move(name) : std::string();
        }
        return true;
    }

    bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                     const json::exception& /*error*/)
    {
        return false;
    }

  private:
    static constexpr std::size_t longest_key = 64;

    bool open(bool params)
    {
        if (++depth_ == 2) {
            in_params_ = params;
            key_.clear();
        }
        return true;
    }

    bool close()
    {
        --depth_;
        return true;
    }

    json& params_;
    std::size_t depth_ = 0;
    bool in_params_ = false;
    std::string key_; ///< the last of the two outermost levels
};

} // namespace

void Outline::feed(std::string_view piece)
{
    for (const char byte : piece) {
        take(byte);
    }
}

void Outline::take(char byte)
{
    // Quotes and brackets are ASCII, and no byte of a longer UTF-8 sequence is.
    if (in_string_) {
        in_string_ = escaped_ || byte != '"';
        escaped_ = !escaped_ && byte == '\\';
    } else if (byte == '"') {
        in_string_ = true;
    } else if (byte == '{' || byte == '[') {
        if (++depth_ == 2) {
            keep(byte);
        }
    } else if ((byte == '}' || byte == ']') && depth_ > 0) {
        if (depth_-- == 2) {
            keep(byte);
            return;
        }
    }
    if (depth_ < 2) {
        keep(byte);
    }
}

void Outline::keep(char byte)
{
    if (text_.size() == limit) {
        too_long_ = true;
        text_.clear();
    }
    if (!too_long_) {
        text_ += byte;
    }
}

Message recognise(std::string_view text)
{
    Outline outline;
    outline.feed(text);
    Recogniser recogniser;
    (void)json::sax_parse(outline.text(), &recogniser);
    Message message = recogniser.message();
    message.partial = true;
    if (message.kind == Kind::request) {
        ParamsRecogniser params(*message.params);
        (void)json::sax_parse(text, &params);
    }
    return message;
}

} // namespace berth::rpc
