#pragma once

#include <initializer_list>
#include <string>

namespace berth::tests {

inline std::string bytes_of(std::initializer_list<int> numbers)
{
    std::string text;
    for (const int number : numbers) {
        text += static_cast<char>(number);
    }
    return text;
}

/// So many bytes of a number, the highest first.
inline std::string in_bytes(unsigned number, int size)
{
    std::string text;
    for (int shift = (size - 1) * 8; shift >= 0; shift -= 8) {
        text += static_cast<char>(number >> static_cast<unsigned>(shift) & 0xFFU);
    }
    return text;
}

/// Behind its length, of so many bytes.
inline std::string counted_bytes(const std::string& text, int size)
{
    return in_bytes(static_cast<unsigned>(text.size()), size) + text;
}

inline std::string extension(unsigned type, const std::string& body)
{
    return in_bytes(type, 2) + counted_bytes(body, 2);
}

inline std::string server_name(const std::string& name)
{
    return extension(0, counted_bytes(std::string(1, '\0') + counted_bytes(name, 2), 2));
}

inline std::string record(const std::string& body)
{
    return "\x16\x03\x01" + counted_bytes(body, 2);
}

/// Of TLS, with these extensions, without its record.
inline std::string hello_message(const std::string& extensions)
{
    const std::string body = "\x03\x03" + std::string(32, 'r') + counted_bytes("session", 1) +
                             counted_bytes("\x13\x01", 2) + counted_bytes(std::string(1, '\0'), 1) +
                             counted_bytes(extensions, 2);
    return "\x01" + counted_bytes(body, 3);
}

inline std::string client_hello(const std::string& extensions)
{
    return record(hello_message(extensions));
}

} // namespace berth::tests
