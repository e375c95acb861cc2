#include "sandbox/guest/exec/command_text.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

namespace berth::guest {
namespace {

constexpr auto npos = std::string_view::npos;

bool ends_in_backslash(std::string_view command)
{
    const auto last = command.find_last_not_of('\\');
    return (command.size() - (last == npos ? 0 : last + 1)) % 2 != 0;
}

/// Looks for here-documents, without the whole of a shell's grammar: where it errs, the command's
/// text has two newlines too many at its end, or bash may replace itself.
class HereDocuments {
  public:
    explicit HereDocuments(std::string_view command) : text_(command) {}

    [[nodiscard]] bool one_is_open()
    {
        for (char quote = 0; at_ < text_.size();) {
            const char c = text_[at_];
            if (c == '\\' && quote != '\'') {
                at_ += 2;
            } else if (quote != 0) {
                quote = c == quote ? 0 : quote;
                ++at_;
            } else if (c == '\'' || c == '"') {
                quote = c;
                ++at_;
            } else if (c == '#' && (at_ == 0 || blanks.find(text_[at_ - 1]) != npos)) {
                at_ = std::min(text_.find('\n', at_), text_.size());
            } else if (c == '<') {
                take_redirection();
            } else if (c == '\n') {
                ++at_;
                if (!skip_documents()) {
                    return true;
                }
            } else {
                ++at_;
            }
        }
        return !pending_.empty();
    }

  private:
    static constexpr std::string_view blanks = " \t\n;&|(";

    struct Document {
        std::string end;
        bool tabs = false; ///< before a line do not count
    };

    void take_redirection()
    {
        const std::size_t length = std::min(text_.find_first_not_of('<', at_), text_.size()) - at_;
        at_ += length;
        if (length != 2 || in_arithmetic()) {
            return; // <file, <<<text, or a shift
        }
        Document document;
        if (at_ < text_.size() && text_[at_] == '-') {
            document.tabs = true;
            ++at_;
        }
        at_ = std::min(text_.find_first_not_of(" \t", at_), text_.size());
        document.end = take_word();
        pending_.push_back(std::move(document));
    }

    /// Whether the line has a "((" so far. No byte is looked at twice, however many redirections
    /// there are: this runs on the thread that serves all calls.
    bool in_arithmetic()
    {
        for (; looked_ < at_; ++looked_) {
            const char c = text_[looked_];
            if (c == '\n') {
                arithmetic_ = false;
            } else if (c == '(' && looked_ > 0 && text_[looked_ - 1] == '(') {
                arithmetic_ = true;
            }
        }
        return arithmetic_;
    }

    /// The next word without its quotes.
    std::string take_word()
    {
        std::string word;
        for (char quote = 0; at_ < text_.size(); ++at_) {
            const char c = text_[at_];
            if (quote == 0 && std::string_view(" \t\n;&|()<>").find(c) != npos) {
                break;
            }
            if (quote == 0 && (c == '\'' || c == '"')) {
                quote = c;
            } else if (quote != 0 && c == quote) {
                quote = 0;
            } else if (c != '\\' || quote == '\'') {
                word += c;
            }
        }
        return word;
    }

    /// From the begin of a line behind the documents of the line before; false: one has no end.
    bool skip_documents()
    {
        for (const Document& document : pending_) {
            for (bool ended = false; !ended;) {
                if (at_ >= text_.size()) {
                    return false;
                }
                const std::size_t newline = std::min(text_.find('\n', at_), text_.size());
                std::string_view line = text_.substr(at_, newline - at_);
                at_ = newline + 1;
                if (document.tabs) {
                    line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
                }
                ended = line == document.end;
            }
        }
        pending_.clear();
        return true;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::size_t looked_ = 0; ///< at, by in_arithmetic()
    bool arithmetic_ = false;
    std::vector<Document> pending_; ///< that begin with the next line
};

} // namespace

std::string command_text(const std::string& command)
{
    const bool kept = ends_in_backslash(command) || HereDocuments(command).one_is_open();
    return kept ? command : command + "\n\n";
}

} // namespace berth::guest
