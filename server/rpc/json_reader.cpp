#include "server/rpc/json_reader.hpp"

#include "sandbox/base/visible.hpp"
#include "server/rpc/error.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::rpc {
namespace {

using nlohmann::json;

/// Builds the document from the parser's events, and stops it at the first broken limit. The
/// library's own builder copies every string; this one takes it.
class Builder {
  public:
    Builder(const ReadLimits& limits, std::size_t size) : limits_(limits), size_(size) {}

    bool null() { return add(nullptr); }

    bool boolean(bool value) { return add(value); }

    bool number_integer(std::int64_t value) { return add(value); }

    bool number_unsigned(std::uint64_t value) { return add(value); }

    bool number_float(double value, const std::string& /*text*/) { return add(value); }

    bool string(std::string& value) { return add(std::move(value)); }

    bool binary(json::binary_t& /*value*/) { return false; } // not in JSON text

    bool start_object(std::size_t /*size*/) { return open(json::object()); }

    bool end_object() { return close(); }

    bool start_array(std::size_t /*size*/) { return open(json::array()); }

    bool end_array() { return close(); }

    bool key(std::string& name)
    {
        auto& members = open_.back()->get_ref<json::object_t&>();
        const auto [member, is_new] = members.try_emplace(std::move(name));
        member_ = &member->second;
        key_ = &member->first;
        return is_new || refuse("the key \"" + member->first.substr(0, 64) +
                                "\" is given twice in one object");
    }

    bool parse_error(std::size_t position, const std::string& token, const json::exception& error)
    {
        constexpr int number_overflow = 406; // of the library's exceptions
        constexpr std::size_t longest_key = 64;
        const auto where = " at byte " + std::to_string(position);
        code_ = rpc::parse_error;
        if (error.id == number_overflow) {
            problem_ = "the number " + token.substr(0, 32) + where + " is too large";
        } else if (std::string_view(error.what()).find("surrogate") != std::string_view::npos) {
            problem_ =
                "the text" +
                (key_ == nullptr ? "" : " in \"" + visible_beginning(*key_, longest_key) + '"') +
                " has half a character, an unpaired \\ud800 to \\udfff," + where;
        } else if (position > size_) {
            cut_off_ = true;
            problem_ = size_ == 0 ? std::string("the JSON is empty")
                                  : "the JSON ends in the middle, after " + std::to_string(size_) +
                                        (size_ == 1 ? " byte" : " bytes");
        } else {
            problem_ = "not valid JSON in UTF-8," + where;
        }
        return false;
    }

    [[nodiscard]] json take() { return std::move(root_); }

    [[noreturn]] void fail() const
    {
        throw ProtocolError(code_, problem_, cut_off_ ? std::string(cut_off_data) : std::string());
    }

  private:
    bool refuse(std::string problem)
    {
        code_ = invalid_request;
        problem_ = std::move(problem);
        return false;
    }

    json* place(json&& value)
    {
        if (open_.empty()) {
            root_ = std::move(value);
            return &root_;
        }
        if (open_.back()->is_array()) {
            return &open_.back()->get_ref<json::array_t&>().emplace_back(std::move(value));
        }
        *member_ = std::move(value);
        return member_;
    }

    bool count()
    {
        constexpr std::size_t step = 1024;
        constexpr std::size_t bytes = 96; ///< of one in an object, or of an object in a list
        if (++values_ > limits_.values) {
            return refuse("more than " + std::to_string(limits_.values) + " values");
        }
        if (limits_.grows && values_ % step == 0) {
            limits_.grows(step * bytes);
        }
        return true;
    }

    bool add(json&& value)
    {
        if (!count()) {
            return false;
        }
        place(std::move(value));
        return true;
    }

    bool open(json&& container)
    {
        if (open_.size() >= limits_.depth) {
            return refuse("nested deeper than " + std::to_string(limits_.depth));
        }
        if (!count()) {
            return false;
        }
        open_.push_back(place(std::move(container)));
        return true;
    }

    bool close()
    {
        open_.pop_back();
        return true;
    }

    ReadLimits limits_;
    std::size_t size_;
    json root_;
    /// The containers around the present position. A parent does not grow while a child is open,
    /// so the pointers stay good.
    std::vector<json*> open_;
    json* member_ = nullptr;           ///< takes the value of the key read last
    const std::string* key_ = nullptr; ///< the key read last
    std::size_t values_ = 0;
    bool cut_off_ = false;
    int code_ = invalid_request;
    std::string problem_ = "not readable";
};

} // namespace

json read_json(std::string_view text, const ReadLimits& limits)
{
    Builder builder(limits, text.size());
    if (!json::sax_parse(text, &builder)) {
        builder.fail();
    }
    return builder.take();
}

} // namespace berth::rpc
