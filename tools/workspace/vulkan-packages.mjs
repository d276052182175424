/**
 * Mesa's software Vulkan and the libraries that it links to, as Debian 12 (glibc 2.36) has them.
 * @type {readonly import("./debian.mjs").DebianPackage[]}
 */
export const VULKAN_PACKAGES = [
  [
    "mesa-vulkan-drivers",
    "25.0.7-2~bpo12+1",
    "3899f1800424c60a05df5d6913076a526ca8fdbabec43672cd397563d1ca3263",
  ],
  ["libvulkan1", "1.3.239.0-1", "622f28b807ba55a1f5ad1622ff83aa2c5b11fedbec074850e04c10a8f28b43d3"],
  ["libllvm15", "1:15.0.6-4+b1", "9f0751109ba89e65b1313a4f3e34a29977a0db6fa30ed475e2c6bd555fa9e866"],
  ["libdrm2", "2.4.123-1~bpo12+1", "9cc2f341964286295124a32d3625edb76730500625e54a1e682761f883064d7b"],
  ["libz3-4", "4.8.12-3.1", "6221ca25ad5abcfbe1965801029d85a88b4775320384b4b716de8fab7a4d2f7a"],
  ["libedit2", "3.1-20221030-2", "1cf14abf2716d3279db12d0657a5737cf70074a1e71d3bdf73206625e3c89ce6"],
  ["libxml2", "2.9.14+dfsg-1.3~deb12u6", "4460e39dda10a815881374217cde08474747cfa018358cd8612c14b390eff53b"],
  ["libicu72", "72.1-3+deb12u1", "f7f6f99c6d7b025914df2447fc93e11d22c44c0c8bdd8b6f36691c9e7ddcef88"],
  ["libbsd0", "0.11.7-2", "bb31cc8b40f962a85b2cec970f7f79cc704a1ae4bad24257a822055404b2c60b"],
  ["libmd0", "1.0.4-2", "03539fd30c509e27101d13a56e52eda9062bdf1aefe337c07ab56def25a13eab"],
  ["liblzma5", "5.4.1-1+deb12u1", "f96d8876b53ec89d76a992bc199679b818cf518225a768954d9451fb556a4eb7"],
  ["libtinfo6", "6.4-4", "072d908f38f51090ca28ca5afa3b46b2957dc61fe35094c0b851426859a49a51"],
  ["libffi8", "3.4.4-1", "6d9f6c25c30efccce6d4bceaa48ea86c329a3432abb360a141f76ac223a4c34a"],
  ["libexpat1", "2.5.0-1+deb12u2", "2255e62fc22a86d2c544b8a3f516da9aee19383ad5742722ab4ce7f66a30dbc8"],
  ["libzstd1", "1.5.4+dfsg2-5", "6315b5ac38b724a710fb96bf1042019398cb656718b1522279a5185ed39318fa"],
  ["zlib1g", "1:1.2.13.dfsg-1", "d7dd1d1411fedf27f5e27650a6eff20ef294077b568f4c8c5e51466dc7c08ce4"],
  ["libx11-xcb1", "2:1.8.4-2+deb12u2", "f5da45e1d881a793250a96613f28c471a248877f1a0f18a5c90e2a620a76c898"],
  ["libxcb1", "1.15-1", "fdc61332a3892168f3cc9cfa1fe9cf11a91dc3e0acacbc47cbc50ebaa234cc71"],
  ["libxcb-randr0", "1.15-1", "f86e3d8ff8622871008833e9d064919b7a6237399c903c59fc330ff00f199ff5"],
  ["libxcb-dri3-0", "1.15-1", "02699b144b9467de8636d27a76984b8f4e7b66e2d25d96df2b9677be86ee9a29"],
  ["libxcb-present0", "1.15-1", "89383e627a4d17b9390d609b2459481bfd2029566367b43068586769e418b6e5"],
  ["libxcb-xfixes0", "1.15-1", "d744a7ebad2cbcf301c96cd6a1ab3ee856e436fc7be5cff5b7c28ac2ac181a64"],
  ["libxcb-sync1", "1.15-1", "3366ce715220d38dd0148b78a8e738137bade25ef7eec0698850c6f66800844f"],
  ["libxcb-shm0", "1.15-1", "c1afcef29dc78b95c475159b181b28b1dedaf1d5aa06efd2fa6d90c73bfbe0e5"],
  ["libxshmfence1", "1.3-1", "1a38142e40e3d32dc4f9a326bf5617363b7d9b4bb762fdcdd262f2192092024d"],
  ["libwayland-client0", "1.21.0-1", "1f002d028b8b79eec9847c636d8886d10dfe8c884cc2bebe18086b1391c5a28d"],
  ["libxau6", "1:1.0.9-1", "679db1c4579ec7c61079adeaae8528adeb2e4bf5465baa6c56233b995d714750"],
  ["libxdmcp6", "1:1.1.2-3", "ecb8536f5fb34543b55bb9dc5f5b14c9dbb4150a7bddb3f2287b7cab6e9d25ef"],
];
