// Reads JSON with the library's event interface, because its tree drops duplicate keys and turns large integers into
// doubles without a word; writes it by hand, because the library sorts keys or needs its own tree.
#include "simulator/config/json.hpp"

#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "simulator/config/text_file.hpp"
#include "simulator/core/error.hpp"

namespace podsim {

namespace {

constexpr std::size_t kDeepest = 1000;  // levels; deeper input is damage, and our recursion must not overflow the stack

// Builds the Value from the library's events.
class Builder {
 public:
  explicit Builder(std::string name) : name_(std::move(name)) {}

  bool null() { return add(Value()); }
  bool boolean(bool value) { return add(Value(value)); }
  bool number_integer(std::int64_t value) { return add(Value(value)); }

  bool number_unsigned(std::uint64_t value) {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      refuse_integer(std::to_string(value));
    }
    return add(Value(static_cast<std::int64_t>(value)));
  }

  // The library hands over integers that fit no 64 bits as doubles.
  bool number_float(double value, const std::string& text) {
    if (text.find_first_of(".eE") == std::string::npos) refuse_integer(text);
    return add(Value(value));
  }

  bool string(std::string& value) { return add(Value(std::move(value))); }
  bool binary(std::vector<std::uint8_t>& /*value*/) { throw InternalError("JSON text has no binary values"); }

  bool start_object(std::size_t /*size*/) { return open(true); }
  bool start_array(std::size_t /*size*/) { return open(false); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string& key) {
    Frame& frame = frames_.back();
    frame.key = key;
    if (!frame.keys.insert(key).second) {
      throw UserError(place(), "the key \"" + key + "\" stands twice in this object", "remove one of them");
    }
    return true;
  }

  bool parse_error(std::size_t /*position*/, const std::string& /*token*/, const nlohmann::detail::exception& error) {
    constexpr int kNumberOverflow = 406;
    const std::string text = error.what();
    if (error.id == kNumberOverflow) {
      const std::size_t quote = text.find('\'');
      throw UserError(
          place(),
          "the number " + text.substr(quote + 1, text.rfind('\'') - quote - 1) + " is out of the range of a double",
          "at most 1.7976931348623157e308");
    }
    // "[json.exception.parse_error.101] parse error at line 3, column 5: syntax error while parsing value - …"
    const std::size_t start = text.find("at line");
    throw UserError(name_, start == std::string::npos ? text : text.substr(start + 3));
  }

  Value take() {
    root_.locate(name_ + ":");
    return std::move(root_);
  }

 private:
  struct Frame {
    bool is_object = false;
    std::string key;
    std::set<std::string> keys;
    Value::Object members;
    Value::Array items;
  };

  bool open(bool is_object) {
    if (frames_.size() == kDeepest) throw UserError(name_, "more than 1000 levels of nesting");
    frames_.push_back({.is_object = is_object, .key = {}, .keys = {}, .members = {}, .items = {}});
    return true;
  }

  bool close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    return add(frame.is_object ? Value(std::move(frame.members)) : Value(std::move(frame.items)));
  }

  bool add(Value value) {
    if (frames_.empty()) {
      root_ = std::move(value);
    } else if (frames_.back().is_object) {
      frames_.back().members.emplace_back(frames_.back().key, std::move(value));
    } else {
      frames_.back().items.push_back(std::move(value));
    }
    return true;
  }

  // JSON pointer of the value that comes next.
  std::string place() const {
    std::string pointer = name_ + ":";
    for (const Frame& frame : frames_) {
      pointer += '/';
      pointer += frame.is_object ? escape_pointer_token(frame.key) : std::to_string(frame.items.size());
    }
    return pointer;
  }

  [[noreturn]] void refuse_integer(const std::string& text) const {
    throw UserError(place(), "the integer " + text + " does not fit 64 bits",
                    "write it as 1.5e20 if it is a real number");
  }

  std::string name_;
  std::vector<Frame> frames_;
  Value root_;
};

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string number_text(double number) {
  if (!std::isfinite(number)) throw InternalError("JSON has no word for a number that is not finite");
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, number);
  std::string text(buffer, end.ptr);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

bool is_scalar(const Value& value) { return !value.is_array() && !value.is_object(); }

class Writer {
 public:
  explicit Writer(int indent) : indent_(indent) {}

  void write(const Value& value, int level) {
    if (value.is_object()) {
      write_object(value.object(), level);
    } else if (value.is_array()) {
      write_array(value.array(), level);
    } else if (value.is_text()) {
      text_ += quoted(value.text());
    } else if (value.is_boolean()) {
      text_ += value.boolean() ? "true" : "false";
    } else if (value.is_integer()) {
      text_ += std::to_string(value.integer());
    } else if (value.is_number()) {
      text_ += number_text(value.number());
    } else {
      text_ += "null";
    }
  }

  std::string take() { return std::move(text_); }

 private:
  void write_object(const Value::Object& members, int level) {
    text_ += '{';
    bool first = true;
    for (const auto& [key, member] : members) {
      if (!first) text_ += ',';
      first = false;
      new_line(level + 1);
      text_ += quoted(key);
      text_ += indent_ > 0 ? ": " : ":";
      write(member, level + 1);
    }
    if (!first) new_line(level);
    text_ += '}';
  }

  // Lists of plain values stay on one line.
  void write_array(const Value::Array& items, int level) {
    bool flat = true;
    for (const Value& item : items) flat = flat && is_scalar(item);
    text_ += '[';
    bool first = true;
    for (const Value& item : items) {
      if (!first) text_ += flat && indent_ > 0 ? ", " : ",";
      first = false;
      if (!flat) new_line(level + 1);
      write(item, level + 1);
    }
    if (!flat) new_line(level);
    text_ += ']';
  }

  void new_line(int level) {
    if (indent_ <= 0) return;
    text_ += '\n';
    text_.append(static_cast<std::size_t>(level) * static_cast<std::size_t>(indent_), ' ');
  }

  int indent_;
  std::string text_;
};

}  // namespace

Value parse_json(const std::string& text, const std::string& name) {
  Builder builder(name);
  nlohmann::json::sax_parse(text, &builder, nlohmann::json::input_format_t::json, /*strict=*/true,
                            /*ignore_comments=*/true);
  return builder.take();
}

Value read_json(const std::filesystem::path& path) { return parse_json(read_text(path), path.string()); }

std::string to_json(const Value& value, int indent) {
  Writer writer(indent);
  writer.write(value, 0);
  return writer.take();
}

}  // namespace podsim
