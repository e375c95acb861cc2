#pragma once

// The encoding of messages between host and guest: that of Protocol Buffers (varints and
// length-delimited fields, https://protobuf.dev/programming-guides/encoding), without its tools.
// A message is a struct with
//
//     template <class Self, class Field> static void fields(Self& self, Field&& field)
//     { field(1, self.path); field(2, self.limit); }
//
// which serves both directions. Numbers are never reused; unknown ones are skipped, missing ones
// keep the value that the struct's definition gives them: so either side may be newer than the
// other. Scalars and strings are always sent, zero or not: a member whose default is `true` could
// not be told to be false otherwise.
//
// decode() treats its input as hostile: lengths are checked against what is there, depth is
// limited, integers must fit their type.

#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace berth::protocol {

/// The bytes are not a message of the wanted type.
class WireError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

inline constexpr int max_message_depth = 8;

/// Elements of all lists and maps of one message together. An element can be two bytes on the wire
/// and a hundred in memory: without a limit one frame could make its reader swell by gigabytes.
inline constexpr std::size_t max_message_elements = 1UL << 20U;

enum class WireType : std::uint8_t { varint = 0, bytes = 2 };

void put_varint(std::string& out, std::uint64_t value);

/// Takes bytes from the front of a buffer; every overrun is a WireError.
class WireReader {
  public:
    explicit WireReader(std::string_view in) noexcept : in_(in) {}

    [[nodiscard]] bool done() const noexcept { return in_.empty(); }

    std::uint64_t varint();
    std::string_view bytes();

    struct Key {
        std::uint32_t number;
        WireType type;
    };

    Key key();
    void skip(WireType type);

  private:
    std::string_view in_;
};

namespace detail {

struct AnyField {
    template <class T>
    void operator()(std::uint32_t /*number*/, T& /*value*/) const
    {
    }
};

template <class T>
concept Message = requires(T& value) { T::fields(value, AnyField{}); };

template <class T>
concept Scalar = std::integral<T> || std::is_enum_v<T>;

template <class T>
struct IsVector : std::false_type {};

template <class T>
struct IsVector<std::vector<T>> : std::true_type {};

template <class T>
struct IsOptional : std::false_type {};

template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

using StringMap = std::map<std::string, std::string>;

template <Scalar T>
std::uint64_t to_varint(T value)
{
    if constexpr (std::is_enum_v<T>) {
        return to_varint(static_cast<std::underlying_type_t<T>>(value));
    } else if constexpr (std::is_signed_v<T>) {
        const auto wide = static_cast<std::int64_t>(value);
        // zigzag: small negative numbers stay short
        return (static_cast<std::uint64_t>(wide) << 1U) ^ static_cast<std::uint64_t>(wide >> 63);
    } else {
        return static_cast<std::uint64_t>(value);
    }
}

template <Scalar T>
T from_varint(std::uint64_t raw)
{
    if constexpr (std::is_enum_v<T>) {
        return static_cast<T>(from_varint<std::underlying_type_t<T>>(raw));
    } else if constexpr (std::is_same_v<T, bool>) {
        if (raw > 1) {
            throw WireError("a boolean that is neither 0 nor 1");
        }
        return raw == 1;
    } else if constexpr (std::is_signed_v<T>) {
        const auto wide =
            static_cast<std::int64_t>(raw >> 1U) ^ -static_cast<std::int64_t>(raw & 1U);
        if (wide < std::numeric_limits<T>::min() || wide > std::numeric_limits<T>::max()) {
            throw WireError("a number out of its type's range");
        }
        return static_cast<T>(wide);
    } else {
        if (raw > std::numeric_limits<T>::max()) {
            throw WireError("a number out of its type's range");
        }
        return static_cast<T>(raw);
    }
}

inline void put_key(std::string& out, std::uint32_t number, WireType type)
{
    put_varint(out, (static_cast<std::uint64_t>(number) << 3U) | static_cast<std::uint8_t>(type));
}

inline void put_bytes(std::string& out, std::uint32_t number, std::string_view value)
{
    put_key(out, number, WireType::bytes);
    put_varint(out, value.size());
    out += value;
}

class Encoder {
  public:
    explicit Encoder(std::string& out) noexcept : out_(out) {}

    template <class T>
    void operator()(std::uint32_t number, const T& value)
    {
        put(number, value);
    }

  private:
    template <class T>
    void put(std::uint32_t number, const T& value)
    {
        if constexpr (Scalar<T>) {
            put_key(out_, number, WireType::varint);
            put_varint(out_, to_varint(value));
        } else if constexpr (std::is_same_v<T, std::string>) {
            put_bytes(out_, number, value);
        } else if constexpr (std::is_same_v<T, StringMap>) {
            for (const auto& [key, mapped] : value) {
                std::string pair;
                put_bytes(pair, 1, key);
                put_bytes(pair, 2, mapped);
                put_bytes(out_, number, pair);
            }
        } else if constexpr (IsOptional<T>::value) {
            if (value) {
                put(number, *value);
            }
        } else if constexpr (IsVector<T>::value) {
            for (const auto& element : value) {
                put(number, element);
            }
        } else {
            static_assert(Message<T>);
            std::string nested;
            T::fields(value, Encoder(nested));
            put_bytes(out_, number, nested);
        }
    }

    std::string& out_;
};

template <Message T>
void decode_into(T& value, std::string_view in, int depth, std::size_t& elements);

/// Is offered every field of the struct for one key of the input, and takes the one that matches.
class FieldDecoder {
  public:
    FieldDecoder(WireReader& reader, WireReader::Key key, int depth, std::size_t& elements) noexcept
        : reader_(reader), key_(key), depth_(depth), elements_(elements)
    {
    }

    [[nodiscard]] bool taken() const noexcept { return taken_; }

    template <class T>
    void operator()(std::uint32_t number, T& value)
    {
        if (number == key_.number && !taken_) {
            taken_ = true;
            take(value);
        }
    }

  private:
    void expect(WireType type) const
    {
        if (key_.type != type) {
            throw WireError("field " + std::to_string(key_.number) + " has the wrong wire type");
        }
    }

    template <class T>
    void take(T& value)
    {
        if constexpr (Scalar<T>) {
            expect(WireType::varint);
            value = from_varint<T>(reader_.varint());
        } else if constexpr (std::is_same_v<T, std::string>) {
            expect(WireType::bytes);
            value = reader_.bytes();
        } else if constexpr (std::is_same_v<T, StringMap>) {
            expect(WireType::bytes);
            count_element();
            take_pair(value);
        } else if constexpr (IsOptional<T>::value) {
            take(value.emplace());
        } else if constexpr (IsVector<T>::value) {
            count_element();
            typename T::value_type element{};
            take(element);
            value.push_back(std::move(element));
        } else {
            static_assert(Message<T>);
            expect(WireType::bytes);
            decode_into(value, reader_.bytes(), depth_ + 1, elements_);
        }
    }

    void count_element()
    {
        if (elements_-- == 0) {
            throw WireError("a message of too many elements");
        }
    }

    void take_pair(StringMap& map)
    {
        WireReader pair(reader_.bytes());
        std::string key;
        std::string mapped;
        while (!pair.done()) {
            const auto part = pair.key();
            if (part.type == WireType::bytes && part.number == 1) {
                key = pair.bytes();
            } else if (part.type == WireType::bytes && part.number == 2) {
                mapped = pair.bytes();
            } else {
                pair.skip(part.type);
            }
        }
        map.insert_or_assign(std::move(key), std::move(mapped));
    }

    WireReader& reader_;
    WireReader::Key key_;
    int depth_;
    std::size_t& elements_; ///< left
    bool taken_ = false;
};

template <Message T>
void decode_into(T& value, std::string_view in, int depth, std::size_t& elements)
{
    if (depth > max_message_depth) {
        throw WireError("a message nested too deeply");
    }
    WireReader reader(in);
    while (!reader.done()) {
        const auto key = reader.key();
        FieldDecoder decoder(reader, key, depth, elements);
        T::fields(value, decoder);
        if (!decoder.taken()) {
            reader.skip(key.type);
        }
    }
}

} // namespace detail

template <detail::Message T>
void encode_to(std::string& out, const T& message)
{
    T::fields(message, detail::Encoder(out));
}

template <detail::Message T>
[[nodiscard]] std::string encode(const T& message)
{
    std::string out;
    encode_to(out, message);
    return out;
}

/// Throws WireError.
template <detail::Message T>
[[nodiscard]] T decode(std::string_view in)
{
    T message{};
    std::size_t elements = max_message_elements;
    detail::decode_into(message, in, 0, elements);
    return message;
}

} // namespace berth::protocol
