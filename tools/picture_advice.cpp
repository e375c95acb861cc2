#include "tools/picture_advice.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/shell_word.hpp"
#include "sandbox/base/visible.hpp"
#include "tools/picture.hpp"
#include "tools/render.hpp"
#include "tools/sandbox_program.hpp"

#include <array>

namespace berth::tools {
namespace {

constexpr std::string_view which_script = R"(
for program in magick convert gm vipsthumbnail ffmpeg; do
    command -v "$program" >/dev/null && { echo "$program"; exit; }
done
python3 -I -c 'import PIL' 2>/dev/null && echo pillow
exit 0
)";

/// A command around the names of the picture and of its copy. 1568 pixels are as many as models
/// look at.
struct Shrinker {
    std::string_view program;
    std::string_view before;
    std::string_view between;
};

constexpr std::array shrinkers = {
    Shrinker{"magick", "magick ", " -resize '1568x1568>' "},
    Shrinker{"convert", "convert ", " -resize '1568x1568>' "},
    Shrinker{"gm", "gm convert ", " -resize '1568x1568>' "},
    Shrinker{"vipsthumbnail", "vipsthumbnail ", " -s 1568 -o "},
    Shrinker{"ffmpeg", "ffmpeg -i ", " -vf scale=1568:-2 "},
    Shrinker{"pillow",
             "python3 -c 'import sys, PIL.Image; i = PIL.Image.open(sys.argv[1]); "
             "i.thumbnail((1568, 1568)); i.save(sys.argv[2])' ",
             " "},
};

/// FILE for what could not be read in a line of text.
std::string quoted(std::string_view path)
{
    return visible(path) == path ? shell_word(path) : "FILE";
}

/// The first program of the list that the sandbox has; empty: none, or that could not be found out.
std::string available_program(Context& context)
{
    constexpr std::uint64_t a_word = 100;
    SandboxScript script;
    script.text = which_script;
    script.most_output = a_word;
    try {
        const auto output = run_script(context, script);
        return output.out.substr(0, output.out.find('\n'));
    } catch (const Error& error) {
        if (error.code() != ErrorCode::busy) {
            throw;
        }
        return {};
    }
}

} // namespace

std::string shrinking_command(std::string_view program, std::string_view path,
                              std::string_view mime_type)
{
    for (const auto& shrinker : shrinkers) {
        if (shrinker.program == program) {
            return std::string(shrinker.before) + quoted(path) + std::string(shrinker.between) +
                   (mime_type == "image/jpeg" ? "/tmp/smaller.jpg" : "/tmp/smaller.png");
        }
    }
    return {};
}

std::string picture_advice(Context& context, const std::string& path, std::string_view beginning,
                           std::string_view mime_type)
{
    const auto size = picture_size(beginning, mime_type);
    const auto command = shrinking_command(available_program(context), path, mime_type);
    const std::string pixels = size ? "it has " + std::to_string(size->width) + "x" +
                                          std::to_string(size->height) + " pixels; "
                                    : "";
    return pixels + (command.empty()
                         ? "no program that makes a smaller copy was found in the sandbox "
                           "(ImageMagick, GraphicsMagick, libvips, ffmpeg or Python's Pillow)"
                         : "a smaller copy is made by " + command);
}

} // namespace berth::tools
