//! Compiles the C side of `fabric::sys` if the feature `libfabric` is enabled.

fn main() {
    println!("cargo:rerun-if-changed=src/fabric/shim.c");
    #[cfg(feature = "libfabric")]
    {
        cc::Build::new().file("src/fabric/shim.c").warnings(true).compile("raddle_fabric_shim");
        println!("cargo:rustc-link-lib=fabric");
    }
}
