# Homebrew formula: brew install --HEAD ./packaging/intaglio.rb, in a clone of the project.
class Intaglio < Formula
  desc "Search-based automated quantization of neural networks to integer programs"
  homepage "file://#{File.expand_path("..", __dir__)}"
  license "Apache-2.0"
  head "file://#{File.expand_path("..", __dir__)}", using: :git, branch: "main"

  depends_on "cmake" => :build
  depends_on "ninja" => :build
  depends_on "pkgconf" => :build
  depends_on "protobuf" => :build
  depends_on "cjson"
  depends_on "jpeg-turbo"
  depends_on "libomp"
  depends_on "libpng"
  depends_on "libzip"
  depends_on "protobuf-c"
  depends_on "sqlite"

  def install
    args = ["-DITG_BUILD_TESTS=OFF", "-DITG_BUILD_BENCH=OFF", "-DITG_WARNINGS_AS_ERRORS=OFF"]
    args << "-DOpenMP_ROOT=#{Formula["libomp"].opt_prefix}" if OS.mac?
    system "cmake", "-S", ".", "-B", "build", "-G", "Ninja", *args, *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
  end

  test do
    system bin/"intaglio", "doctor"
    assert_match "cortex-m", shell_output("#{bin}/intaglio hw list")
  end
end
