#include "sandbox/guest/files/text_pass.hpp"

#include <algorithm>

namespace berth::guest {

TextPass::TextPass(TextEncoding encoding, const TextWindow& window, bool from_begin)
    : encoding_(encoding), bom_left_(from_begin ? bom_size(encoding) : 0),
      window_(window.skip, window.limit, window.budget)
{
    if (encoding == TextEncoding::utf16le || encoding == TextEncoding::utf16be) {
        utf16_.emplace(encoding == TextEncoding::utf16be);
    }
}

void TextPass::feed(std::string_view piece)
{
    const std::size_t bom = std::min(bom_left_, piece.size());
    bom_left_ -= bom;
    piece.remove_prefix(bom);
    if (utf16_) {
        decoded_.clear();
        utf16_->feed(piece, decoded_);
        piece = decoded_;
    }
    scan(piece);
}

void TextPass::finish()
{
    if (utf16_) {
        decoded_.clear();
        utf16_->finish(decoded_);
        scan(decoded_);
    }
    window_.finish();
}

void TextPass::give_page(protocol::ReadFileReply& reply)
{
    reply.content = window_.take_content();
    reply.line_count = window_.line_count();
    reply.truncated_by = window_.truncated_by();
}

void TextPass::describe(protocol::ReadFileReply& reply)
{
    reply.kind = protocol::FileKind::text;
    reply.total_lines = counter_.lines();
    reply.encoding = encoding_name();
    reply.line_ending = counter_.line_ending();
    reply.final_newline = counter_.final_newline();
}

void TextPass::scan(std::string_view text)
{
    counter_.feed(text);
    check_.feed(text);
    window_.feed(text);
}

std::string TextPass::encoding_name()
{
    switch (encoding_) {
    case TextEncoding::utf16le:
        return "utf-16le";
    case TextEncoding::utf16be:
        return "utf-16be";
    case TextEncoding::utf8:
    case TextEncoding::utf8_bom:
    case TextEncoding::binary:
        break;
    }
    if (!check_.finish()) {
        return "invalid-utf-8";
    }
    return encoding_ == TextEncoding::utf8_bom ? "utf-8-bom" : "utf-8";
}

} // namespace berth::guest
