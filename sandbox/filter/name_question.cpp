#include "sandbox/filter/name_question.hpp"

#include "sandbox/filter/byte_reader.hpp"

namespace berth::filter {
namespace {

constexpr std::size_t head_size = 12;
constexpr std::size_t longest_label = 63; // above these are the marks of a pointer
constexpr std::size_t longest_name = 253;
constexpr unsigned is_answer = 0x8000;
constexpr unsigned recursion_desired = 0x0100;
constexpr unsigned operation_bits = 0x7800;
constexpr unsigned refused = 5;

} // namespace

std::optional<NameQuestion> read_name_question(std::string_view packet)
{
    ByteReader reader(packet);
    const unsigned id = reader.number(2);
    const unsigned flags = reader.number(2);
    const unsigned questions = reader.number(2);
    (void)reader.bytes(head_size - 6);
    if (reader.failed() || (flags & is_answer) != 0 || questions != 1) {
        return std::nullopt;
    }
    NameQuestion question;
    for (;;) {
        const unsigned size = reader.number(1);
        if (reader.failed() || size > longest_label || question.name.size() + size > longest_name) {
            return std::nullopt;
        }
        if (size == 0) {
            break;
        }
        question.name += question.name.empty() ? "" : ".";
        question.name += reader.bytes(size);
    }
    (void)reader.bytes(4); // type and class
    if (reader.failed()) {
        return std::nullopt;
    }
    const auto put = [&](unsigned number) {
        question.refusal += static_cast<char>(number >> 8U & 0xFFU);
        question.refusal += static_cast<char>(number & 0xFFU);
    };
    put(id);
    put(is_answer | (flags & (operation_bits | recursion_desired)) | refused);
    put(1);
    question.refusal.append(head_size - 6, '\0');
    question.refusal += packet.substr(head_size, packet.size() - reader.left() - head_size);
    return question;
}

} // namespace berth::filter
