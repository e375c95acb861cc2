#include "tools/notebook.hpp"

#include <nlohmann/json.hpp>

#include <utility>

namespace berth::tools {
namespace {

using nlohmann::json;

constexpr std::size_t most_depth = 64;
constexpr std::size_t most_cells = 20'000;
constexpr std::size_t most_outputs = 50'000; // of all cells
constexpr std::size_t most_media = 50'000;

const std::string cell_path = "cells[]";
const std::string output_path = "cells[].outputs[]";
const std::string data_path = "cells[].outputs[].data.";

bool is_text(std::string_view type)
{
    return type == "text/plain" || type == "text/markdown";
}

/// Takes what is shown out of the parser's events. Where it is in the document is a path such as
/// cells[].outputs[].data.text/plain.
class Reader {
  public:
    bool null() { return true; }

    bool boolean(bool /*value*/) { return true; }

    bool number_integer(std::int64_t /*value*/) { return true; }

    bool number_unsigned(std::uint64_t value)
    {
        if (path() == "cells[].execution_count" && !notebook_.cells.empty()) {
            notebook_.cells.back().execution_count = value;
        }
        return true;
    }

    bool number_float(double /*value*/, const std::string& /*text*/) { return true; }

    bool string(std::string& value)
    {
        if (std::string* place = place_of(path())) {
            *place += value;
        }
        return true;
    }

    bool binary(json::binary_t& /*value*/) { return false; } // not in JSON text

    bool start_object(std::size_t /*size*/)
    {
        const std::string here = path();
        if (here == cell_path) {
            notebook_.cells.emplace_back();
        } else if (here == output_path) {
            notebook_.cells.back().outputs.emplace_back();
            ++outputs_;
        }
        if (notebook_.cells.size() > most_cells || outputs_ > most_outputs) {
            return refuse("it has too many cells or outputs");
        }
        return open(here, false);
    }

    bool end_object() { return close(); }

    bool start_array(std::size_t /*size*/)
    {
        const std::string here = path();
        has_cells_ |= here == "cells";
        return open(here, true);
    }

    bool end_array() { return close(); }

    bool key(std::string& name)
    {
        constexpr std::size_t longest = 64; // of those that are looked for
        auto& at = open_.back();
        // A name may not pose as a path of its own.
        at.key = name.find('[') == std::string::npos ? name.substr(0, longest) : "?";
        if (at.path == "cells[].outputs[].data" && !is_text(at.key)) {
            if (++media_ > most_media) {
                return refuse("it has too many outputs");
            }
            notebook_.cells.back().outputs.back().media.push_back({at.key, ""});
        }
        return true;
    }

    bool parse_error(std::size_t position, const std::string& /*token*/,
                     const json::exception& /*error*/)
    {
        return refuse("it is not valid JSON in UTF-8, at byte " + std::to_string(position));
    }

    [[nodiscard]] Notebook take()
    {
        if (notebook_.fault.empty() && !has_cells_) {
            notebook_.fault = "it has no list of cells";
        }
        return std::move(notebook_);
    }

  private:
    /// An open container: its path, and in an object the present key.
    struct Open {
        std::string path;
        bool is_array;
        std::string key;
    };

    [[nodiscard]] std::string path() const
    {
        if (open_.empty()) {
            return {};
        }
        const auto& at = open_.back();
        return at.is_array ? at.path + "[]" : at.path.empty() ? at.key : at.path + "." + at.key;
    }

    bool open(const std::string& here, bool is_array)
    {
        if (open_.size() >= most_depth) {
            return refuse("it is nested deeper than " + std::to_string(most_depth));
        }
        // Deeper than anything that is looked for: a long path would only cost.
        constexpr std::size_t deepest = 6;
        open_.push_back({open_.size() > deepest ? "?" : here, is_array, {}});
        return true;
    }

    bool close()
    {
        open_.pop_back();
        return true;
    }

    /// Where a string goes; null: it is not shown. A text may be a list of its lines.
    std::string* place_of(std::string_view here)
    {
        if (here == "metadata.language_info.name") {
            return &notebook_.language;
        }
        if (here.ends_with("[]")) {
            here.remove_suffix(2);
        }
        if (notebook_.cells.empty() || !here.starts_with("cells[].")) {
            return nullptr;
        }
        auto& cell = notebook_.cells.back();
        if (here == "cells[].cell_type") {
            return &cell.type;
        }
        if (here == "cells[].source") {
            return &cell.source;
        }
        return cell.outputs.empty() ? nullptr : place_in_output(cell.outputs.back(), here);
    }

    static std::string* place_in_output(NotebookOutput& output, std::string_view here)
    {
        if (here.starts_with(data_path)) {
            const auto type = here.substr(data_path.size());
            if (is_text(type)) {
                return type == "text/plain" ? &output.text : &output.markdown;
            }
            return type.starts_with("image/") && !output.media.empty() &&
                           output.media.back().type == type
                       ? &output.media.back().value
                       : nullptr;
        }
        const auto member =
            here.starts_with(output_path) ? here.substr(output_path.size()) : std::string_view();
        if (member == ".output_type") {
            return &output.type;
        }
        if (member == ".name") {
            return &output.name;
        }
        if (member == ".text") {
            return &output.text;
        }
        if (member == ".ename") {
            return &output.error_name;
        }
        if (member == ".evalue") {
            return &output.error_value;
        }
        if (member == ".traceback") {
            output.traceback += output.traceback.empty() ? "" : "\n";
            return &output.traceback;
        }
        return nullptr;
    }

    bool refuse(std::string fault)
    {
        notebook_.fault = std::move(fault);
        return false;
    }

    Notebook notebook_;
    std::vector<Open> open_;
    std::size_t outputs_ = 0;
    std::size_t media_ = 0;
    bool has_cells_ = false;
};

} // namespace

Notebook parse_notebook(std::string_view text)
{
    Reader reader;
    json::sax_parse(text, &reader);
    return reader.take();
}

} // namespace berth::tools
